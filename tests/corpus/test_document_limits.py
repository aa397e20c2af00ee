"""One document cannot take all the time or all the memory (PILE-5)."""

from __future__ import annotations

import resource
import signal
import time

import pytest

from barrow.corpus.document_limits import TooSlow, memory_held, memory_limit, time_limit


def test_time_is_limited_and_the_alarm_taken_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TooSlow), time_limit(0.05):
        while True:
            pass
    assert signal.getsignal(signal.SIGALRM) == before
    with time_limit(0.05):
        pass
    time.sleep(0.1)  # an alarm left behind would end the test here


def test_memory_is_limited_and_the_limit_taken_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    held = memory_held()
    assert held is not None
    with pytest.raises(MemoryError), memory_limit(held + (1 << 27)):
        bytearray(1 << 28)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with memory_limit(held + (1 << 27)):
        assert len(bytearray(1 << 26)) == 1 << 26
    assert len(bytearray(1 << 28)) == 1 << 28


def test_a_stricter_limit_of_the_system_stays() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = memory_held()
    assert held is not None
    with memory_limit(held + (1 << 27)):
        strict = resource.getrlimit(resource.RLIMIT_DATA)[0]
        with memory_limit(held + (1 << 40)):
            assert resource.getrlimit(resource.RLIMIT_DATA)[0] == strict
    assert resource.getrlimit(resource.RLIMIT_DATA) == (soft, hard)


def test_where_nobody_tells_there_is_no_limit() -> None:
    with memory_limit(None):
        assert len(bytearray(1 << 26)) == 1 << 26
