from __future__ import annotations

import os
import signal
import threading

import pytest

from barrow.parallel.interrupt import stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_asks_the_second_acts(number: int) -> None:
    heard: list[int] = []
    before = signal.signal(number, lambda n, _: heard.append(n))
    mine = signal.getsignal(number)
    try:
        with stop_on_signals() as stop:
            assert not stop.asked
            os.kill(os.getpid(), number)
            assert stop.asked
            assert heard == []
            os.kill(os.getpid(), number)
            assert heard == [number]
        assert signal.getsignal(number) is mine
    finally:
        signal.signal(number, before)


def test_handlers_come_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), stop_on_signals():
        assert signal.getsignal(signal.SIGINT) is not before
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_catch_nothing() -> None:
    before, asked = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with stop_on_signals() as stop:
            asked.append((stop.asked, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [(False, True)]
