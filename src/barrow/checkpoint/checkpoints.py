"""Checkpoints of a run: saved in the background, restored exactly, on any devices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from barrow.ahead import Ahead
from barrow.checkpoint.folder import (
    clean,
    complete,
    folder_of,
    listed,
    locate,
    locate_step,
    removable,
    remove,
)
from barrow.checkpoint.index import as_json, read_index
from barrow.checkpoint.read import open_checkpoint
from barrow.checkpoint.restore import restore
from barrow.checkpoint.snapshot import Snapshot, snapshot
from barrow.checkpoint.write import write_checkpoint
from barrow.errors import CheckpointError
from barrow.parallel.processes import Peers, open_peers

T = TypeVar("T")


class Stepped(Protocol):
    """A pytree of arrays that knows its step, as `barrow.train.TrainState` does."""

    @property
    def step(self) -> Any:
        """Steps done."""


class BackgroundSave:
    """Runs one job at a time on a thread; a program that ends waits for it."""

    def __init__(self) -> None:
        self._job: Ahead[Callable[[], None], None] | None = None

    def start(self, job: Callable[[], None]) -> None:
        """Begin a job after the one before; its error is raised here, and nothing begun."""
        self.wait()
        begun: SimpleQueue[None] = SimpleQueue()

        def run(job: Callable[[], None]) -> None:
            begun.put(None)
            job()

        self._job = Ahead(run, threads=1)
        self._job.put(job)
        begun.get()  # once begun, it is finished, also by a program that ends

    def wait(self) -> None:
        """Return when no job is running; raise the error of the last job, once."""
        job, self._job = self._job, None
        if job is not None:
            with job:
                next(job, None)


@dataclass(frozen=True)
class Checkpoints:
    """A folder of checkpoints, ``step-000001000`` and so on, which one run writes.

    After each save all but the `keep_last` newest are removed, except multiples of `keep_every`.
    `timeout` is how many seconds the processes of a run wait for one another.
    """

    folder: Path
    keep_last: int = 3
    keep_every: int | None = None
    timeout: float = 600.0
    _saving: BackgroundSave = field(
        default_factory=BackgroundSave, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))
        if self.keep_last < 1:
            raise ValueError(f"keep_last must be ≥ 1, got {self.keep_last}")
        if self.keep_every is not None and self.keep_every < 1:
            raise ValueError(f"keep_every must be ≥ 1 or None, got {self.keep_every}")
        if not self.timeout > 0:
            raise ValueError(f"timeout must be > 0 seconds, got {self.timeout}")

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *raised: object) -> None:
        self.wait()

    def save(self, state: Stepped, about: Mapping[str, Any], *, wait: bool = False) -> None:
        """Copy a state to the host, then write it in the background; every process calls this.

        `about` is anything that JSON holds, dataclasses too. One checkpoint is written at a time: a
        call waits for the one before, and raises its error. A checkpoint of the same step is
        replaced.
        """
        described = as_json(about)
        self.wait()
        step = int(state.step)
        held = snapshot(state)
        peers = open_peers(f"checkpoint/{self.folder}/step {step}", timeout=self.timeout)
        self._saving.start(lambda: self._write(held, step, described, peers))
        if wait:
            self.wait()

    def wait(self) -> None:
        """Return when nothing is being written; raise what went wrong in the last save."""
        self._saving.wait()

    def steps(self) -> list[int]:
        """Steps of complete checkpoints, ascending."""
        return complete(self.folder)

    def latest(self) -> int | None:
        """The last of `steps`."""
        return max(self.steps(), default=None)

    def to_resume(self) -> int | None:
        """`latest`, with a warning for each of `passed_over`."""
        latest = self.latest()
        instead = "starting again" if latest is None else f"resuming from step {latest}"
        for step in self.passed_over():
            warnings.warn(
                f"{self.folder}: checkpoint {step} is damaged or incomplete; {instead}",
                stacklevel=4,
            )
        return latest

    def passed_over(self) -> list[int]:
        """Steps later than `latest` whose checkpoints are damaged or incomplete."""
        latest = self.latest()
        return [step for step in listed(self.folder) if latest is None or step > latest]

    def about(self, step: int) -> dict[str, Any]:
        """What a checkpoint was saved with."""
        return dict(read_index(locate_step(self.folder, step)).about)

    def restore(self, step: int, like: T, *, shardings: Any = None) -> T:
        """The state of a step, with the given shardings or those of `like`.

        `like` is a state of the same model, optimizer and settings, or its shapes
        (`jax.eval_shape`). Every file is verified against its checksum.
        """
        try:
            found = open_checkpoint(locate_step(self.folder, step))
            state: T = restore(found, like, shardings=shardings)
        except CheckpointError as error:
            if error.reason not in ("damaged", "incomplete", "none"):
                raise
            cause = f"{error.cause}; {self._instead_of(step)}"
            raise CheckpointError(cause, reason=error.reason, folder=error.folder) from None
        return state

    def discard_after(self, step: int) -> None:
        """Remove all checkpoints later than a step, to resume from it; one process calls this."""
        self.wait()
        for later in listed(self.folder):
            if later > step:
                remove(locate(self.folder, later))

    def tidy(self) -> None:
        """Remove what killed writers left or were about to remove; one process calls this."""
        self._clean()
        if steps := self.steps():
            self._thin_out(steps[-1])

    def _write(self, held: Snapshot, step: int, about: Any, peers: Peers) -> None:
        peers.lead("clean", self._clean)
        write_checkpoint(folder_of(self.folder, step), held, step=step, about=about, peers=peers)
        peers.lead("thin-out", lambda: self._thin_out(step))

    def _clean(self) -> None:
        if self.folder.is_dir():
            clean(self.folder)

    def _thin_out(self, written: int) -> None:
        for old in removable(
            self.steps(), written=written, keep_last=self.keep_last, keep_every=self.keep_every
        ):
            remove(folder_of(self.folder, old))

    def _instead_of(self, step: int) -> str:
        before = [other for other in self.steps() if other < step]
        if not before:
            return "there is no earlier one"
        return f"to resume from step {before[-1]}, remove this folder"
