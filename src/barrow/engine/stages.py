"""Runs stages one after the other: here, on local processes, or on Ray; with the same bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from barrow.engine.store import Store
from barrow.engine.task import Outputs, Task
from barrow.engine.workers import Engine, WorkerDied, Workers
from barrow.errors import TaskFailed

# A task that took its worker down (killed, out of memory) is tried again this often.
_ATTEMPTS = 3

Out = TypeVar("Out", bound=Outputs)


class Stages:
    """Runs stages, and remembers their results.

    Workers are started with the first task and then kept: starting a process may take a second or
    two of imports. A context manager; they stop on exit.
    """

    def __init__(self, store: Store, engine: Engine, progress: Progress | None = None) -> None:
        self.progress = progress or Progress()
        self._store = store
        self._engine = engine
        self._workers: Workers | None = None
        self._keys: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, label: str, tasks: Sequence[Task[Out]]) -> list[Out]:
        """Run every task that is not done yet; the outputs of each.

        The first failure ends the run: the error names the task; finished tasks stay done.
        """
        distinct = {task.key: task for task in tasks}
        self.progress.on_plan(label, sum(task.size for task in distinct.values()))
        waiting: deque[Task[Any]] = deque()
        for task in distinct.values():
            if self._store.has(task.key):
                self.progress.on_bytes(task.size)
            else:
                waiting.append(task)
        if waiting:
            try:
                self._perform(waiting)
            except BaseException:
                self._stop()
                raise
        self._keys |= distinct.keys()
        return [task.stage.outputs(self._store.path(task.key), task.key) for task in tasks]

    def clean(self) -> None:
        """Remove what other stages left in the store."""
        self._store.clean(self._keys)

    def _perform(self, waiting: deque[Task[Any]]) -> None:
        if self._workers is None:
            self._workers = self._engine.workers(self._store)
        workers = self._workers
        attempts: dict[str, int] = {}
        num_started = 0
        while waiting or num_started:
            # One more than there are workers, so that none waits for its next task.
            while waiting and num_started <= workers.num_workers:
                workers.start(waiting.popleft())
                num_started += 1
            task, error = workers.wait()
            num_started -= 1
            if error is None:
                self.progress.on_bytes(task.size)
                continue
            attempts[task.key] = attempts.get(task.key, 0) + 1
            if not isinstance(error, WorkerDied):
                raise TaskFailed(f"{task.label}: {error}")
            if attempts[task.key] == _ATTEMPTS:
                raise TaskFailed(
                    f"{task.label}: {_ATTEMPTS} workers died on it ({error}); is memory short, or "
                    'is this a script without if __name__ == "__main__"?'
                )
            waiting.append(task)

    def _stop(self) -> None:
        if self._workers is not None:
            self._workers.stop()
            self._workers = None


def _report_to_nobody(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Progress:
    """A stage and its bytes, then bytes done."""

    on_plan: Callable[[str, int], None] = _report_to_nobody
    on_bytes: Callable[[int], None] = _report_to_nobody
