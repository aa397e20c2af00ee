"""Tasks run by the caller itself, one at a time."""

from __future__ import annotations

from collections import deque
from typing import Any

from barrow.engine.store import Store
from barrow.engine.task import Task
from barrow.engine.workers import TaskError, in_words


class InlineWorkers:
    """No processes: for debugging, and for work too small to start them."""

    num_workers = 0

    def __init__(self, store: Store) -> None:
        self._store = store
        self._started: deque[Task[Any]] = deque()

    def start(self, task: Task[Any]) -> None:
        """Queue a task."""
        self._started.append(task)

    def wait(self) -> tuple[Task[Any], Exception | None]:
        """Run the task that was started first."""
        task = self._started.popleft()
        try:
            self._store.perform(task)
        except Exception as error:  # noqa: BLE001 - it is handed on
            return task, TaskError(in_words(error))
        return task, None

    def stop(self) -> None:
        """Drop queued tasks."""
        self._started.clear()
