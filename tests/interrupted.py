"""Ctrl-C at every place, in a process of its own where a hang ends in seconds; a dropped one."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from barrow.ahead import _RUNNING

# A watchdog, not a measure: what is waited for takes microseconds.
HANG = 60


def at_every_instruction(scenario: Callable[[], None]) -> int:
    """Raise `KeyboardInterrupt` at each instruction of a scenario in turn; how many there are.

    The process ends with a traceback if the scenario hangs or leaves a thread.
    """
    place = 0
    while _interrupted_at(place, scenario):
        place += 1
    return place


def _interrupted_at(place: int, scenario: Callable[[], None]) -> bool:
    left = place

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    faulthandler.dump_traceback_later(HANG, exit=True)
    sys.settrace(trace)
    try:
        scenario()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    no_threads()
    return left < 0


def by_signals(count: int, scenario: Callable[[], None]) -> None:
    """Repeat a scenario until Ctrl-C, so many times; the parent sends one for each line "ready"."""
    lost = False

    def unraisable(_: Any) -> None:
        nonlocal lost
        lost = True  # Ctrl-C fell into a finalizer, whose errors Python only reports

    sys.unraisablehook = unraisable
    for _ in range(count):
        faulthandler.dump_traceback_later(HANG, exit=True)
        lost = False
        try:
            os.write(1, b"ready\n")
            while not lost:
                scenario()
        except KeyboardInterrupt:
            pass
        no_threads()


def dropped() -> None:
    """Send a Ctrl-C inside a finalizer, where Python prints `KeyboardInterrupt` and goes on."""

    class Last:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    kinds: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda one: kinds.append(one.exc_type)
    try:
        Last()
    finally:
        sys.unraisablehook = before
    assert kinds == [KeyboardInterrupt]


def no_threads() -> None:
    """Return when all threads have ended."""
    while _RUNNING:
        time.sleep(0)
