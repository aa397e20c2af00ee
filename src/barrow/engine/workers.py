"""Who performs tasks: the caller, local processes, or Ray."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from barrow import config
from barrow.engine.store import Store
from barrow.engine.task import Task
from barrow.errors import ConfigError

EngineName = Literal["local", "ray"]


class TaskError(Exception):
    """A task raised; in words, because not every exception crosses processes."""


class WorkerDied(Exception):
    """The worker was gone before the task was done; the task itself said nothing."""


class Workers(Protocol):
    """Something that performs tasks, several at a time."""

    num_workers: int

    def start(self, task: Task[Any]) -> None:
        """Begin a task."""

    def wait(self) -> tuple[Task[Any], Exception | None]:
        """A task that ended, and how."""

    def stop(self) -> None:
        """End everything, at once."""


@dataclass(frozen=True)
class Engine:
    """Which workers to use: how many local processes (0 is the caller itself), or a Ray cluster."""

    name: EngineName = "local"
    num_workers: int = 1
    address: str | None = None

    def workers(self, store: Store) -> Workers:
        """The workers, started."""
        if self.name == "ray":
            from barrow.engine.ray_workers import RayWorkers

            return RayWorkers(store, self.num_workers, self.address)
        if self.num_workers == 0:
            from barrow.engine.inline import InlineWorkers

            return InlineWorkers(store)
        from barrow.engine.processes import ProcessWorkers

        return ProcessWorkers(store, self.num_workers)


# The modules and files outside barrow that a task needs, and the task itself.
Packed = tuple[tuple[str, ...], bytes]


def pack(task: Task[Any], dumps: Callable[[Any], bytes] = pickle.dumps) -> Packed:
    """A task as it is sent to a worker."""
    return config.outside(task.settings), dumps(task)


def unpack(packed: Packed) -> Task[Any]:
    """A task that was sent; code that is in a file of its own is imported from there."""
    outside, data = packed
    try:
        task = pickle.loads(data)  # noqa: S301 - it comes from the process that started us
    except ModuleNotFoundError:
        files = [name for name in outside if name.endswith(".py")]
        for file in files:
            config.import_file(file)
        try:
            task = pickle.loads(data)  # noqa: S301 - it comes from the process that started us
        except ModuleNotFoundError as error:
            if not files:
                raise
            raise ConfigError(
                f"{', '.join(files)}: changed since the work began ({error}); start it again"
            ) from None
    assert isinstance(task, Task)
    return task


def in_words(error: Exception) -> str:
    """An exception of a task, for people."""
    return f"{type(error).__name__}: {error}"
