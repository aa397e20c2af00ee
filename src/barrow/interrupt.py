"""Ctrl-C that is never lost, and that lets a loop finish its step and save.

Python raises `KeyboardInterrupt` wherever the main thread is. Inside a finalizer, the callback of a
weak reference (importlib has some) or a callback from C (llvmlite), the exception is printed and
dropped. `remembered` keeps a flag as well, which loops read with `check_interrupt`.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C or SIGTERM and saved; the message says how to resume."""


class Stop:
    """A flag: whether a run was asked to stop."""

    def __init__(self) -> None:
        self.asked = False


# What `remembered` keeps; None outside it, and inside `stop_on_signals`, which reads it itself.
_kept: Stop | None = None


def is_asked() -> bool:
    """Tell whether a Ctrl-C came inside `remembered`, even if its exception was dropped.

    It concerns the main thread, where Python handles signals: it is False in every other.
    """
    return _kept is not None and _kept.asked and _in_main_thread()


def check_interrupt() -> None:
    """Raise `KeyboardInterrupt` in the main thread if one was raised before and dropped."""
    if is_asked():
        raise KeyboardInterrupt


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Inside, SIGINT raises `KeyboardInterrupt` and is remembered; at the end it is raised again.

    Nothing changes outside the main thread, where SIGINT has a handler of its own, or where it is
    ignored, as by `nohup`.
    """
    global _kept
    is_ours = _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_ours:
        yield
        return
    kept = Stop()

    def interrupt(number: int, frame: FrameType | None) -> None:
        kept.asked = True
        signal.default_int_handler(number, frame)

    try:
        _kept = kept
        signal.signal(signal.SIGINT, interrupt)
        yield
        check_interrupt()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _kept = None


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Inside, the first SIGINT or SIGTERM asks to stop; the second acts at once.

    A Ctrl-C that was dropped before asks too. One that nothing acted on is raised by the next
    `check_interrupt`. Outside the main thread, where Python cannot handle signals, nothing is
    caught.
    """
    global _kept
    if not _in_main_thread():
        yield Stop()
        return
    outer, _kept = _kept, None
    stop = Stop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.asked = True
        for other, handler in before.items():
            signal.signal(other, handler)

    for number in before:
        signal.signal(number, ask)
    if outer is not None and outer.asked:
        ask(signal.SIGINT, None)  # so that the next one acts at once
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _kept = outer
        if outer is not None:
            outer.asked = outer.asked or stop.asked


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
