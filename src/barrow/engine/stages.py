"""Runs stages one after the other: here, on local processes, or on Ray; with the same bytes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from barrow.engine.store import Store
from barrow.engine.task import File, Outputs, Task, files_in
from barrow.engine.workers import Engine, WorkerDied, Workers
from barrow.errors import TaskFailed
from barrow.interrupt import check_interrupt, remembered

# A task that took its worker down (killed, out of memory) is tried again this often.
_ATTEMPTS = 3

Out = TypeVar("Out", bound=Outputs)


@dataclass(frozen=True)
class StageTime:
    """What a stage took: its tasks, and those among them that were done before; bytes of the
    others, seconds by the clock, and CPU seconds of all workers.
    """

    stage: str
    tasks: int
    from_cache: int
    bytes: int
    seconds: float
    cpu_seconds: float

    @property
    def is_measured(self) -> bool:
        """Whether it did work whose size is known in bytes; other tasks count as 1 each."""
        return self.bytes > self.tasks

    @property
    def rate(self) -> float:
        """MB a second."""
        return self.bytes / 1e6 / max(self.seconds, 1e-3)


class Stages:
    """Runs stages, and remembers their results and, in `times`, what each took.

    Workers are started with the first task and then kept: starting a process may take a second or
    two of imports. A context manager; they stop on exit.
    """

    def __init__(self, store: Store, engine: Engine, progress: Progress | None = None) -> None:
        self.progress = progress or Progress()
        self._store = store
        self._engine = engine
        self._workers: Workers | None = None
        self._tasks: dict[str, tuple[str, Task[Any]]] = {}
        self.times: list[StageTime] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @remembered()
    def run(self, label: str, tasks: Sequence[Task[Out]]) -> list[Out]:
        """Run every task that is not done yet; the outputs of each.

        Temporary files that these need and that were removed are written first, by the tasks that
        wrote them before. The first failure ends the run: the error names the task; finished tasks
        stay done.
        """
        distinct = {task.key: task for task in tasks}
        done = {key for key in distinct if self._store.has(key)}
        waiting = deque(task for key, task in distinct.items() if key not in done)
        size = sum(task.size for task in waiting)
        try:
            self.restore(file for task in waiting for file in files_in(task.inputs))
            began, spent = time.perf_counter(), 0.0
            self.progress.on_plan(label, sum(task.size for task in distinct.values()))
            for key in done:
                self.progress.on_bytes(distinct[key].size)
            if waiting:
                spent = self._perform(waiting)
        except BaseException:
            self._stop()
            raise
        self._tasks |= {key: (label, task) for key, task in distinct.items()}
        self.add_time(
            StageTime(label, len(distinct), len(done), size, time.perf_counter() - began, spent)
        )
        return [task.stage.outputs(self._store.path(task.key), task.key) for task in tasks]

    def restore(self, files: Iterable[File]) -> None:
        """Write the missing temporary files among some files again."""
        missing = {file.key.partition("/")[0] for file in set(files) if not file.path.exists()}
        again = {key: found for key, found in self._tasks.items() if key in missing}
        if again:
            self.restore(file for _, task in again.values() for file in files_in(task.inputs))
        for label in dict.fromkeys(label for label, _ in again.values()):
            tasks = deque(task for theirs, task in again.values() if theirs == label)
            began, number, size = time.perf_counter(), len(tasks), sum(task.size for task in tasks)
            self.progress.on_plan(f"{label} again", size)
            spent = self._perform(tasks)
            took = time.perf_counter() - began
            self.add_time(StageTime(f"{label} again", number, 0, size, took, spent))

    def add_time(self, took: StageTime) -> None:
        """Record what a stage took; those of `run` are recorded there."""
        self.times.append(took)
        self.progress.on_end(took)

    def clean(self) -> None:
        """Remove what other stages left in the store, and the temporary files of these."""
        self._store.clean(self._tasks.keys())
        for _, task in self._tasks.values():
            self._store.drop(task)

    def _perform(self, waiting: deque[Task[Any]]) -> float:
        """Perform tasks; the CPU seconds they took."""
        if self._workers is None:
            self._workers = self._engine.workers(self._store)
        workers = self._workers
        # A task that is most of the work may use the threads of workers that will be idle.
        share = workers.num_workers / max(1, sum(task.size for task in waiting))
        waiting = deque(
            replace(task, threads=round(task.size * share)) if task.size * share > 1.5 else task
            for task in waiting
        )
        attempts: dict[str, int] = {}
        num_started, spent = 0, 0.0
        while waiting or num_started:
            check_interrupt()
            # One more than there are workers, so that none waits for its next task.
            while waiting and num_started <= workers.num_workers:
                workers.start(waiting.popleft())
                num_started += 1
            task, error, seconds = workers.wait()
            num_started -= 1
            spent += seconds
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
        return spent

    def _stop(self) -> None:
        if self._workers is not None:
            self._workers.stop()
            self._workers = None


def _report_to_nobody(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Progress:
    """A stage and its bytes, then bytes done, then what the stage took."""

    on_plan: Callable[[str, int], None] = _report_to_nobody
    on_bytes: Callable[[int], None] = _report_to_nobody
    on_end: Callable[[StageTime], None] = _report_to_nobody
