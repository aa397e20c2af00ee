"""Tasks run by a Ray cluster whose machines share the file system."""

from __future__ import annotations

from typing import Any

from barrow.engine.store import Store
from barrow.engine.task import Task
from barrow.engine.workers import (
    Ended,
    TaskError,
    WorkerDied,
    cpu_seconds,
    in_words,
    pack,
    unpack,
)
from barrow.errors import MissingExtra


class RayWorkers:
    """One Ray task for each task; Ray's own retries are off, as the engine counts attempts."""

    def __init__(self, store: Store, num_workers: int, address: str | None) -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtra("Ray", "ray", "the engine 'ray'") from None
        self._ray = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            local = {} if address else {"num_cpus": max(1, num_workers), "include_dashboard": False}
            ray.init(address=address, log_to_driver=False, logging_level="error", **local)
        self.num_workers = max(1, num_workers)
        self._store = ray.put(store)
        self._perform = ray.remote(num_cpus=1, max_retries=0)(_perform)
        self._started: dict[Any, Task[Any]] = {}

    def start(self, task: Task[Any]) -> None:
        """Hand a task to the cluster."""
        self._started[self._perform.remote(self._store, pack(task))] = task

    def wait(self) -> Ended:
        """The next task that ends."""
        done, _ = self._ray.wait(list(self._started), num_returns=1)
        task = self._started.pop(done[0])
        try:
            seconds = self._ray.get(done[0])
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            return Ended(task, TaskError(in_words(cause)), 0.0)
        except self._ray.exceptions.RayError as error:
            return Ended(task, WorkerDied(str(error).splitlines()[0]), 0.0)
        return Ended(task, None, seconds)

    def stop(self) -> None:
        """Cancel running tasks; shut the cluster down if we started it."""
        for reference in self._started:
            self._ray.cancel(reference, force=True)
        self._started.clear()
        if self._ours:
            self._ray.shutdown()


def _perform(store: Store, packed: bytes) -> float:
    before = cpu_seconds()
    store.perform(unpack(packed))
    return cpu_seconds() - before
