"""Ctrl-C that finishes the step and saves the state first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C or SIGTERM and saved; the message says how to resume."""


class Stop:
    """Whether a run was asked to stop."""

    def __init__(self) -> None:
        self.asked = False


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Inside, the first SIGINT or SIGTERM asks to stop; the second acts at once.

    Outside the main thread, where Python cannot handle signals, nothing is caught.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.asked = True
        for other, handler in before.items():
            signal.signal(other, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
