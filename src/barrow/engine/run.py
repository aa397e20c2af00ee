"""Run tasks: here, on local processes, or on Ray; the results are the same bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from barrow.engine.store import Store
from barrow.engine.task import Task
from barrow.errors import TaskFailed

EngineName = Literal["local", "ray"]

# A task that took its worker down (killed, out of memory) is tried again this often.
_ATTEMPTS = 3


class TaskError(Exception):
    """A task raised; in words, because not every exception crosses processes."""


class WorkerDied(Exception):
    """The worker was gone before the task was done; the task itself said nothing."""


class Workers(Protocol):
    """Something that performs tasks, several at a time."""

    num_workers: int

    def start(self, task: Task) -> None:
        """Begin a task."""

    def wait(self) -> tuple[Task, Exception | None]:
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


class Team:
    """The workers of an engine, started when there is first something to do, and then kept.

    Starting a process costs a second or two where much has to be imported: a build with many stages
    does it once. A context manager; on leaving, the workers are stopped.
    """

    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine = engine
        self._store = store
        self._workers: Workers | None = None

    def workers(self) -> Workers:
        """The workers, all of them free."""
        if self._workers is None:
            self._workers = self._engine.workers(self._store)
        return self._workers

    def stop(self) -> None:
        """End everything, at once."""
        if self._workers is not None:
            self._workers.stop()
            self._workers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def run(
    tasks: Iterable[Task],
    store: Store,
    engine: Engine | Team,
    *,
    on_done: Callable[[Task, bool], None] | None = None,
) -> None:
    """Perform every task that is not done yet.

    `on_done` is called after each, with whether there was anything to do. The first task that
    fails ends the run: it is named in the error, and what is done stays done. The workers of a team
    stay for its next run, unless this one fails.
    """
    told = on_done or _say_nothing
    waiting: deque[Task] = deque()
    for task in tasks:
        if store.has(task.key):
            told(task, False)
        else:
            waiting.append(task)
    if not waiting:
        return
    attempts: dict[str, int] = {}
    team = engine if isinstance(engine, Team) else Team(engine, store)
    workers = team.workers()
    num_started = 0
    done = False
    try:
        while waiting or num_started:
            # One more than can be worked on: no worker waits for its next task.
            while waiting and num_started <= workers.num_workers:
                workers.start(waiting.popleft())
                num_started += 1
            task, error = workers.wait()
            num_started -= 1
            if error is None:
                told(task, True)
                continue
            attempts[task.key] = attempts.get(task.key, 0) + 1
            if not isinstance(error, WorkerDied):
                raise TaskFailed(f"{task.label}: {error}")
            if attempts[task.key] == _ATTEMPTS:
                raise TaskFailed(
                    f"{task.label}: {_ATTEMPTS} workers died of it ({error}); is memory short, or "
                    'is this a script without if __name__ == "__main__"?'
                )
            waiting.append(task)
        done = True
    finally:
        if not done or team is not engine:
            team.stop()


def in_words(error: Exception) -> str:
    """An exception of a task, for people."""
    return f"{type(error).__name__}: {error}"


def _say_nothing(task: Task, worked: bool) -> None:
    del task, worked
