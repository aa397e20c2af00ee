"""Workers that run tasks: the caller, local processes, or Ray."""

from __future__ import annotations

import json
import resource
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_type_hints

from barrow import config
from barrow.engine.store import Store
from barrow.engine.task import Stage, Task
from barrow.errors import ConfigError
from barrow.objects import import_trusted, trust_of

EngineName = Literal["local", "ray"]


class TaskError(Exception):
    """A task raised; as text, because not every exception can be pickled."""


class WorkerDied(Exception):
    """The worker died before the task was done."""


class Ended(NamedTuple):
    """A task that ended: its error, if it failed, and the CPU time it took its worker."""

    task: Task[Any]
    error: Exception | None
    cpu_seconds: float


class Workers(Protocol):
    """Runs tasks, several at a time."""

    num_workers: int

    def start(self, task: Task[Any]) -> None:
        """Begin a task."""

    def wait(self) -> Ended:
        """The next task that ends."""

    def stop(self) -> None:
        """End everything, at once."""


@dataclass(frozen=True)
class Engine:
    """Which workers to use: local processes (0: the caller itself), or a Ray cluster."""

    name: EngineName = "local"
    num_workers: int = 1
    address: str | None = None

    def workers(self, store: Store) -> Workers:
        """The workers, started."""
        if self.name == "ray":
            from barrow.engine.ray_workers import RayWorkers

            return RayWorkers(store, self.num_workers, self.address)
        if self.num_workers == 0:
            return InlineWorkers(store)
        from barrow.engine.processes import ProcessWorkers

        return ProcessWorkers(store, self.num_workers)


def pack(task: Task[Any]) -> bytes:
    """A task as it is sent to a worker: JSON, with code by its name."""
    stage = task.stage
    packed = {
        "key": task.key,
        "label": task.label,
        "name": stage.name,
        "version": stage.version,
        "function": _place(stage.function),
        "outputs": _place(stage.outputs),
        "settings": config.identity(task.settings),
        "inputs": config.to_dict(task.inputs),
        "trust": config.outside(task.settings),
        "threads": task.threads,
    }
    return json.dumps(packed, allow_nan=False).encode()


def unpack(packed: bytes) -> Task[Any]:
    """The task that was sent; `ConfigError` if the code it names has changed."""
    sent = json.loads(packed)
    function, outputs = _at(sent["function"]), _at(sent["outputs"])
    settings_kind, inputs_kind, *_ = get_type_hints(function).values()
    settings = config.from_dict(settings_kind, sent["settings"], trust=sent["trust"])
    if config.identity(settings) != sent["settings"]:
        files = [name for name in sent["trust"] if name.endswith(".py")]
        changed = ", ".join(files or sent["trust"])
        raise ConfigError(f"{changed} changed while the work was running; start again")
    stage: Stage[Any, Any, Any] = Stage(sent["name"], sent["version"], function, outputs)
    inputs = config.from_dict(inputs_kind, sent["inputs"])
    task = Task(sent["label"], stage, settings, inputs, threads=sent["threads"])
    # A float field may have been 1 and is 1.0 now: the same work, but another hash.
    vars(task)["key"] = sent["key"]
    return task


def _place(code: Any) -> tuple[str, str]:
    """The file or module of a function or class, and its name there."""
    return trust_of(code) or code.__module__, code.__qualname__


def _at(place: tuple[str, str]) -> Any:
    return getattr(import_trusted(place[0]), place[1])


def in_words(error: Exception) -> str:
    """An exception of a task, as text."""
    return f"{type(error).__name__}: {error}"


def cpu_seconds() -> float:
    """CPU time of this process, and of its children that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class InlineWorkers:
    """No processes: for debugging, and for work too small to start them."""

    num_workers = 0

    def __init__(self, store: Store) -> None:
        self._store = store
        self._started: deque[Task[Any]] = deque()

    def start(self, task: Task[Any]) -> None:
        """Queue a task."""
        self._started.append(task)

    def wait(self) -> Ended:
        """Run the task that was started first."""
        task, before, failure = self._started.popleft(), cpu_seconds(), None
        try:
            self._store.perform(task)
        except Exception as error:  # noqa: BLE001 - it is handed on
            failure = TaskError(in_words(error))
        return Ended(task, failure, cpu_seconds() - before)

    def stop(self) -> None:
        """Drop queued tasks."""
        self._started.clear()
