"""How much time and memory one document may take before it is given up."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import Self

_STATM = Path("/proc/self/statm")


class TooSlow(Exception):
    """The time is over."""


class DocumentLimits:
    """Limits for one document after the other: `seconds` each, and `memory` bytes more than now.

    Between `begin` and `end` the process is stopped by `TooSlow` or `MemoryError`. Tasks run in
    their process's main thread. Where the system does not tell how much memory a process has, that
    is not limited. A context manager: on leaving, everything is as it was.
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
        """A document begins."""
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        resource.setrlimit(resource.RLIMIT_DATA, self._tight)

    def end(self) -> None:
        """It is done."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_DATA, self._free)


def memory_held() -> int | None:
    """Private memory that the process can write to; None where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[5]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return None


def _stop(*_: object) -> None:
    raise TooSlow
