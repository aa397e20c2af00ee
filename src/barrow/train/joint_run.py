"""Processes of a run that begin alike, and of which none waits for ever for one that failed.

Devices of several processes wait for one another in every step, without a word and without end. So
words go beside them, in a room: before the first step, what each is about to do; later, that one
has failed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from barrow.errors import ConfigError, Diverged, PeerFailed
from barrow.parallel.room import Room, open_room
from barrow.train.interrupt import Interrupted

# Seconds between two looks into the store.
_NAP = 0.5
# Seconds for which a process waits for a word of another before the first step: one of them may
# still be opening its data.
_PATIENCE = 600.0
# Seconds for which a process may still come to an end by itself when another has failed. It cannot
# where it waits for devices: nothing reaches it there.
_GRACE = 20.0
# Words of errors that come of the wires between processes.
_WIRES = ("Gloo", "NCCL", "UNAVAILABLE", "closed by peer", "reset by peer")
# What all processes come to by themselves, after the same step.
_SHARED = (Interrupted, Diverged, PeerFailed)


class Joint(Protocol):
    """The processes of a run, as one of them sees them."""

    @property
    def process(self) -> int:
        """The number of this process; 0 is the first."""

    def agree(self, name: str, words: Mapping[str, Any]) -> None:
        """Return when all have called this with the same words; `ConfigError` in all, if other."""


@dataclass(frozen=True)
class Alone:
    """A single process."""

    process: int = 0

    def agree(self, name: str, words: Mapping[str, Any]) -> None:
        """There is nobody to disagree with."""
        del name, words


@dataclass(frozen=True)
class Together:
    """Several processes, in the run's own room.

    Seconds: `patience` to wait for a word before the first step, `nap` between two looks, and
    `grace` to leave by oneself when another has failed.
    """

    room: Room
    patience: float = _PATIENCE
    nap: float = _NAP
    grace: float = _GRACE

    @property
    def process(self) -> int:
        """As `Joint` says."""
        return self.room.process

    def agree(self, name: str, words: Mapping[str, Any]) -> None:
        """As `Joint` says; `PeerFailed` where another fails before."""
        self.room.tell(f"{name}/{self.process}", words)
        if self.process == 0:
            told = [self._hear(f"{name}/{n}", n) for n in range(self.room.num_processes)]
            self.room.tell(f"{name}/verdict", _differences(told))
        verdict = self._hear(f"{name}/verdict", 0)
        if verdict:
            raise ConfigError(verdict)

    def fail(self, told: str) -> None:
        """Tell the others who cannot go on, and why; the first who tells is heard."""
        with contextlib.suppress(jax.errors.JaxRuntimeError):  # nobody is there to listen
            self.room.tell("failed", told)

    def failure(self) -> str | None:
        """What the first process that failed has told; None while all is well."""
        found: str | None = self.room.look("failed")
        return found

    def _hear(self, key: str, process: int) -> Any:
        pause = threading.Event()
        for _ in range(max(1, round(self.patience / self.nap))):
            # In this order: what was said before a failure counts.
            failure, words = self.failure(), self.room.look(key)
            if words is not None:
                return words
            if failure is not None:
                raise PeerFailed(failure)
            pause.wait(self.nap)
        raise PeerFailed(
            f"waited {self.patience:g} s for process {process} ({key}) and heard nothing: all "
            "processes of a run call fit, with the same settings; is one gone?"
        )


def _end(told: str) -> None:
    """End this process, whatever its other threads wait for."""
    sys.stdout.flush()
    sys.stderr.write(f"barrow: {told}; without it this process cannot go on, and ends\n")
    sys.stderr.flush()
    # All who end meet here or on their way out; whoever just left would be taken for dead.
    jax.distributed.shutdown()
    os._exit(1)


@contextlib.contextmanager
def joined() -> Iterator[Joint]:
    """While inside, a process that fails is heard by the others; each enters once for a run."""
    room = open_room("run")
    if room is None:
        yield Alone()
        return
    with heard(Together(room)) as together:
        yield together


@contextlib.contextmanager
def heard(together: Together, *, end: Callable[[str], None] = _end) -> Iterator[Together]:
    """While inside, what is raised is told to the others, and what they tell is heard.

    `end` is for a process that hears of a failure and does not leave: it waits for devices.
    """
    left = threading.Event()

    def listen() -> None:
        while not left.wait(together.nap):
            try:
                told = together.failure()
            except jax.errors.JaxRuntimeError:  # the service is gone, and JAX ends us
                return
            if told is not None:
                if not left.wait(together.grace):
                    end(told)
                return

    listener = threading.Thread(target=listen, name="barrow-joint-run", daemon=True)
    listener.start()
    try:
        yield together
    except _SHARED:
        raise
    except BaseException as error:
        lost = _lost(error)
        told = f"process {together.process} {lost or f'failed: {type(error).__name__}: {error}'}"
        together.fail(told)
        if lost is None:
            raise
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            told = together.failure() or told  # that of the first
        raise PeerFailed(told) from error
    finally:
        left.set()
        listener.join()  # where it has begun to end the process, nothing else may


def _lost(error: BaseException) -> str | None:
    """What to say where an error of JAX is about another process, not about this one."""
    if not isinstance(error, jax.errors.JaxRuntimeError):
        return None
    cause = str(error).strip().partition("\n")[0]
    if not any(word in cause for word in _WIRES):
        return None
    return (
        f"cannot reach the devices of another; is one gone? ({cause[:200]}). To go on from the "
        "newest checkpoint, start all processes again"
    )


def _differences(told: list[Any]) -> str:
    """In which words others differ from the first; empty where none do."""
    parts = []
    for number, words in enumerate(told[1:], 1):
        other = [
            f"{key}: {words.get(key)!r}, the first {told[0].get(key)!r}"
            for key in dict.fromkeys([*told[0], *words])
            if words.get(key) != told[0].get(key)
        ]
        if other:
            parts.append(f"process {number} has other settings than the first ({'; '.join(other)})")
    return "; ".join(parts) and "; ".join(parts) + ": start all processes with the same"
