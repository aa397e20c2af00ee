"""One document cannot take all the time or all the memory."""

from __future__ import annotations

import resource
import signal

import pytest

from barrow.corpus.build import limits as limits_module
from barrow.corpus.build.limits import DocumentLimits, TooSlow

PLENTY = 1 << 40


def test_time_is_limited_and_the_alarm_taken_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with DocumentLimits(0.05, PLENTY) as limits:
        limits.begin()
        with pytest.raises(TooSlow):
            while True:
                pass
        limits.end()
        limits.begin()
        limits.end()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        limits.begin()
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_memory_is_limited_and_the_limit_taken_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with DocumentLimits(60, 1 << 27) as limits:
        limits.begin()
        with pytest.raises(MemoryError):
            bytearray(1 << 28)
        assert len(bytearray(1 << 26)) == 1 << 26
        limits.end()
        assert len(bytearray(1 << 28)) == 1 << 28
        limits.begin()
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_a_stricter_limit_of_the_system_stays() -> None:
    with DocumentLimits(60, 1 << 27) as strict:
        strict.begin()
        limit = resource.getrlimit(resource.RLIMIT_DATA)
        with DocumentLimits(60, PLENTY) as loose:
            loose.begin()
            assert resource.getrlimit(resource.RLIMIT_DATA) == limit


def test_where_nobody_tells_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "memory_held", lambda: None)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with DocumentLimits(60, 1) as limits:
        limits.begin()
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
