"""How much time and memory one document may take before it is given up."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATM = Path("/proc/self/statm")


class TooSlow(Exception):
    """The time is over."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` after so many seconds. Tasks run in their process's main thread."""

    def stop(*_: object) -> None:
        raise TooSlow

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def memory_limit(ceiling: int | None) -> Iterator[None]:
    """Let the process hold `ceiling` bytes, as `memory_held` counts; then there is a `MemoryError`.

    None is no limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    if ceiling is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (min([ceiling, *limits]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def memory_held() -> int | None:
    """Private memory that the process can write to; None where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[5]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return None
