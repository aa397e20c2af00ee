"""Limits of time and memory for reading one document."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import Self

_STATM = Path("/proc/self/statm")


class TooSlow(Exception):
    """The time limit was reached."""


class DocumentLimits:
    """Limits for one document after the other: `seconds` each, and `memory` bytes more than now.

    Between `begin` and `end`, `TooSlow` or `MemoryError` is raised at the limit; `next` says that
    another document begins. Tasks run in the
    main thread of their process. Memory is not limited where the system does not report it. A
    context manager: on exit, the old limits are restored.
    """

    def __init__(self, seconds: float, memory: int) -> None:
        self._seconds = seconds
        self._free = resource.getrlimit(resource.RLIMIT_DATA)
        self._tight = self._free
        held = memory_held()
        if held is not None:
            limits = [limit for limit in self._free if limit != resource.RLIM_INFINITY]
            self._tight = (min([held + memory, *limits]), self._free[1])

    def __enter__(self) -> Self:
        self._previous = signal.signal(signal.SIGALRM, _stop)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        signal.signal(signal.SIGALRM, self._previous)

    def begin(self) -> None:
        """Documents begin."""
        self.next()
        resource.setrlimit(resource.RLIMIT_DATA, self._tight)

    def next(self) -> None:
        """A document begins."""
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def end(self) -> None:
        """They are done."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_DATA, self._free)


def memory_held() -> int | None:
    """Private writable memory of the process; None where the system does not report it."""
    try:
        return int(_STATM.read_text().split()[5]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return None


def _stop(*_: object) -> None:
    raise TooSlow
