"""How the processes of a run agree on a checkpoint: who failed, and when to go on.

Words go through the key-value store of JAX's coordination service, not through a collective: the
writer is a thread beside the training step, and a collective from it could fall between those of
the step, in another order in each process, and hang them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import jax

from barrow.errors import CheckpointError


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
    """Several processes. `room` is the meeting's own name, the same in all of them.

    `client` is that of JAX's coordination service, `timeout` seconds to wait for a word.
    """

    client: Any
    room: str
    process: int
    num_processes: int
    timeout: float
    folder: Path

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
                for other in range(1, self.num_processes):
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
        words = "" if error is None else f"{type(error).__name__}: {error}"
        self.client.key_value_set(f"{self.room}/{key}", json.dumps(words))

    def _hear(self, key: str, process: int) -> None:
        try:
            text = self.client.blocking_key_value_get(
                f"{self.room}/{key}", int(self.timeout * 1000)
            )
        except jax.errors.JaxRuntimeError as error:
            raise CheckpointError(
                f"waited {self.timeout:g} s for process {process} ({key}) and heard nothing: every "
                f"process saves, at the same step; is one gone, or slow? ({_status(error)})",
                reason="timeout",
                folder=self.folder,
            ) from None
        words = json.loads(text)
        if words:
            raise CheckpointError(
                f"process {process} failed: {words}", reason="peer", folder=self.folder
            )


def meet(folder: Path, subject: str, *, timeout: float) -> Meeting:
    """The meeting of all processes of this run about a checkpoint; each of them calls this."""
    if jax.process_count() == 1:
        return Alone()
    # The only way to the coordination service's store; other checkpoint libraries use it too.
    from jax._src import distributed

    client: Any = distributed.global_state.client
    process = jax.process_index()
    room = f"barrow/checkpoint/{folder}/{subject}"
    # Each process counts its own attempts: the same call everywhere gets the same number.
    attempt = client.key_value_increment(f"{room}/attempts-of-{process}", 1)
    return Together(client, f"{room}/{attempt}", process, jax.process_count(), timeout, folder)


def _failure(action: Callable[[], None]) -> Exception | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever it is, the others must hear of it
        return error
    return None


def _status(error: Exception) -> str:
    return str(error).partition(":")[0]
