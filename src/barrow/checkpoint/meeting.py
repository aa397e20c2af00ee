"""How the processes of a run agree on a checkpoint: who failed, and when to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import jax

from barrow.errors import CheckpointError
from barrow.parallel.room import Room, open_room


class Meeting(Protocol):
    """The processes that write one checkpoint together; number 0 leads."""

    @property
    def process(self) -> int:
        """The number of this process."""

    def lead(self, name: str, action: Callable[[], None]) -> None:
        """Let the lead act; return in every process once it has, or raise in every one."""

    def everyone(self, name: str, action: Callable[[], None]) -> None:
        """Act in every process; return in each once all have, or raise in each."""


@dataclass(frozen=True)
class Alone:
    """A single process."""

    process: int = 0

    def lead(self, name: str, action: Callable[[], None]) -> None:
        """Act."""
        del name
        action()

    def everyone(self, name: str, action: Callable[[], None]) -> None:
        """Act."""
        del name
        action()


@dataclass(frozen=True)
class Together:
    """Several processes, in the meeting's own room; `timeout` seconds to wait for a word."""

    room: Room
    timeout: float
    folder: Path

    @property
    def process(self) -> int:
        """As `Meeting` says."""
        return self.room.process

    def lead(self, name: str, action: Callable[[], None]) -> None:
        """As `Meeting` says."""
        if self.process == 0:
            error = _failure(action)
            self._tell(f"{name}/lead", error)
            if error is not None:
                raise error
        else:
            self._hear(f"{name}/lead", 0)

    def everyone(self, name: str, action: Callable[[], None]) -> None:
        """As `Meeting` says."""
        error = _failure(action)
        if self.process == 0:
            try:
                for other in range(1, self.room.num_processes):
                    self._hear(f"{name}/{other}", other)
            except CheckpointError as heard:
                error = error or heard
            self._tell(f"{name}/all", error)
        else:
            self._tell(f"{name}/{self.process}", error)
            if error is None:
                self._hear(f"{name}/all", 0)
        if error is not None:
            raise error

    def _tell(self, key: str, error: Exception | None) -> None:
        self.room.tell(key, "" if error is None else f"{type(error).__name__}: {error}")

    def _hear(self, key: str, process: int) -> None:
        try:
            words = self.room.hear(key, seconds=self.timeout)
        except jax.errors.JaxRuntimeError as error:
            raise CheckpointError(
                f"waited {self.timeout:g} s for process {process} ({key}) and heard nothing: every "
                f"process saves, at the same step; is one gone, or slow? ({_status(error)})",
                reason="timeout",
                folder=self.folder,
            ) from None
        if words:
            raise CheckpointError(
                f"process {process} failed: {words}", reason="peer", folder=self.folder
            )


def meet(folder: Path, subject: str, *, timeout: float) -> Meeting:
    """The meeting of all processes of this run about a checkpoint; each of them calls this."""
    room = open_room(f"checkpoint/{folder}/{subject}")
    return Alone() if room is None else Together(room, timeout, folder)


def _failure(action: Callable[[], None]) -> Exception | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever it is, the others must hear of it
        return error
    return None


def _status(error: Exception) -> str:
    return str(error).partition(":")[0]
