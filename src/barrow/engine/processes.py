"""Tasks run by local processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections import deque
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
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

_spawn = multiprocessing.get_context("spawn")


class ProcessWorkers:
    """A few processes, each with its own pipe.

    Not an executor of the standard library: when one of its processes is killed, the work of all
    others is lost, and it does not report which task it was.
    """

    def __init__(self, store: Store, num_workers: int) -> None:
        self.num_workers = num_workers
        self._store = store
        self._queue: deque[Task[Any]] = deque()
        self._workers = [_Worker(store) for _ in range(num_workers)]

    def start(self, task: Task[Any]) -> None:
        """Give a task to a free worker, or to the next one that becomes free."""
        self._queue.append(task)
        self._hand_out()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.task is None and self._queue:
                worker.begin(self._queue.popleft())

    def wait(self) -> Ended:
        """The next task that ends."""
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        worker = busy[wait(list(busy))[0]]  # type: ignore[index]
        ended = worker.end()
        if isinstance(ended.error, WorkerDied):
            self._workers[self._workers.index(worker)] = _Worker(self._store)
        self._hand_out()
        return ended

    def stop(self) -> None:
        """Kill workers that are still busy; the store clears their unfinished folders."""
        self._queue.clear()
        for worker in self._workers:
            worker.kill()


class _Worker:
    def __init__(self, store: Store) -> None:
        self.task: Task[Any] | None = None
        self.pipe, theirs = _spawn.Pipe()
        self._process: SpawnProcess = _spawn.Process(
            target=_serve, args=(theirs, store), daemon=True
        )
        self._process.start()
        theirs.close()

    def begin(self, task: Task[Any]) -> None:
        self.task = task
        with contextlib.suppress(BrokenPipeError):  # it died; `end` will say so
            self.pipe.send_bytes(pack(task))

    def end(self) -> Ended:
        assert self.task is not None
        task, self.task = self.task, None
        try:
            seconds, _, words = self.pipe.recv_bytes().decode().partition(" ")
            return Ended(task, TaskError(words) if words else None, float(seconds))
        except (EOFError, ConnectionResetError):
            self._process.join()
            return Ended(task, WorkerDied(f"exit code {self._process.exitcode}"), 0.0)

    def kill(self) -> None:
        if self.task is None:
            with contextlib.suppress(BrokenPipeError):
                self.pipe.send_bytes(b"")
        else:
            self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection, store: Store) -> None:
    # Ctrl-C goes to the whole group; the parent decides when workers stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            packed = pipe.recv_bytes()
        except EOFError:  # the parent is gone
            return
        if not packed:
            return
        before = cpu_seconds()
        try:
            store.perform(unpack(packed))
            outcome = ""
        except Exception as error:  # noqa: BLE001 - it is handed on
            outcome = in_words(error)
        with contextlib.suppress(BrokenPipeError):
            said = f"{cpu_seconds() - before} {outcome}"
            pipe.send_bytes(said.encode(errors="backslashreplace"))
