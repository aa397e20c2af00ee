"""Processes of a run that stop after the same step, whichever of them is asked, and when.

A scheduler's signal comes to processes at different steps, or to one of them alone. A process that
stopped by itself would save, and wait for others that wait for its part of their next step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from barrow.parallel.room import Room, open_room

# A process that looks after step k has read the loss of step k − 1, to which all have given their
# part. So when one says after step k that all shall stop, the others have done step k + 1 at most,
# and whoever looks after step k + 2 finds what was said.
_AHEAD = 2


class AgreedStop(Protocol):
    """Asked after every step, once its predecessor's loss was read."""

    def is_now(self, step: int, *, is_asked: bool) -> bool:
        """Whether all stop after this step; `is_asked` is whether this process was told to."""


@dataclass(frozen=True)
class Alone:
    """A single process stops when it is asked."""

    def is_now(self, step: int, *, is_asked: bool) -> bool:
        """As `AgreedStop` says."""
        del step
        return is_asked


@dataclass
class Together:
    """Several processes, in the run's own room."""

    room: Room
    _last: int | None = field(default=None, init=False)

    def is_now(self, step: int, *, is_asked: bool) -> bool:
        """As `AgreedStop` says."""
        if self._last is None and is_asked:
            self.room.tell("last", step + _AHEAD)  # unless another process was asked first
        if self._last is None:
            self._last = self.room.look("last")
        return self._last is not None and step >= self._last


def agreed_stop(folder: Path) -> AgreedStop:
    """How the processes of the run in a folder agree; each of them calls this once a run."""
    room = open_room(f"stop/{folder}")
    return Alone() if room is None else Together(room)
