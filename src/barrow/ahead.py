"""Prefetching on threads: results are computed ahead of the caller.

Ctrl-C raises in the main thread between any two instructions. If it held a lock there, as
`threading.Thread.start`, a condition and the pools of `concurrent.futures` do, the lock would stay
held and the threads would wait forever. So the caller shares nothing with the threads but
`queue.SimpleQueue`, whose methods are atomic, and threads are started without a handshake by locks.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from barrow.interrupt import check_interrupt

Item = TypeVar("Item")
Result = TypeVar("Result")

# The owner of each thread.
_RUNNING: dict[int, _Work[Any, Any]] = {}
os.register_at_fork(after_in_child=_RUNNING.clear)


def available_cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_ahead(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    depth: int | None = None,
) -> Iterator[Result]:
    """`map`, in order, with up to `threads` calls running ahead of the caller.

    Up to `depth` results, `threads` by default, wait for the caller. Worth it where the function
    releases the interpreter lock, as decompression does. The threads end with the iterator.
    """
    if threads < 2:
        yield from map(function, items)
        return
    with Ahead(function, threads=threads) as ahead:
        for item in items:
            ahead.put(item)
            if len(ahead) > (threads if depth is None else depth):
                yield next(ahead)
        yield from ahead


class Ahead(Generic[Item, Result]):
    """Threads that apply a function to what is `put`; iteration gives the results in that order.

    An exception of the function is raised in place of its result. `close`, or leaving a `with`,
    waits for the threads to end; dropping this object also ends them, unless the function refers to
    it. Only one thread may put and iterate.
    """

    def __init__(self, function: Callable[[Item], Result], *, threads: int) -> None:
        self._work = _Work(function)
        self._threads = threads
        self._started = self._num_put = self._num_taken = 0
        self._waiting: dict[int, Result | _Failure] = {}
        self._dropped = weakref.finalize(self, self._work.end)

    def __len__(self) -> int:
        """Results not taken yet."""
        return self._num_put - self._num_taken

    def put(self, item: Item) -> None:
        """Queue a call of the function with an item."""
        if self._started < self._threads:
            self._started += 1
            _thread.start_new_thread(self._work.run, ())
            self._work.changed.get()
        self._work.tasks.put((self._num_put, item))
        self._num_put += 1

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        if self._work.is_ended or not len(self):
            raise StopIteration
        check_interrupt()
        while self._num_taken not in self._waiting:
            done = self._work.done.get()
            if done is None:  # closed by another thread
                raise StopIteration
            self._waiting[done[0]] = done[1]
        found = self._waiting.pop(self._num_taken)
        self._num_taken += 1
        if not isinstance(found, _Failure):
            return found
        # Raised unchanged, this one would end the iteration.
        if isinstance(found.error, StopIteration):
            raise RuntimeError(f"item {self._num_taken - 1} raised StopIteration") from found.error
        raise found.error

    def close(self) -> None:
        """End the threads after their current calls; results not taken are dropped.

        If Ctrl-C interrupts it, it may be called again.
        """
        self._work.close()
        self._waiting.clear()
        self._dropped.detach()  # Ctrl-C that falls into a finalizer is lost

    def __enter__(self) -> Ahead[Item, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Work(Generic[Item, Result]):
    """What the caller and the threads share."""

    def __init__(self, function: Callable[[Item], Result]) -> None:
        self._function = function
        self.is_ended = False
        self.tasks: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
        self.done: SimpleQueue[tuple[int, Result | _Failure] | None] = SimpleQueue()
        self.changed: SimpleQueue[None] = SimpleQueue()  # a thread has started or ended

    def run(self) -> None:
        """The loop of a thread."""
        me = _thread.get_ident()
        _RUNNING[me] = self
        self.changed.put(None)
        try:
            while (task := self.tasks.get()) is not None and not self.is_ended:
                try:
                    self.done.put((task[0], self._function(task[1])))
                except BaseException as error:  # noqa: BLE001 - whatever it is, the caller gets it
                    self.done.put((task[0], _Failure(error)))
                del task  # a waiting thread must not keep an item alive
        finally:
            self.tasks.put(None)  # for the next thread
            del _RUNNING[me]
            self.changed.put(None)

    def end(self) -> None:
        """Tell the threads to end."""
        self.is_ended = True
        self.tasks.put(None)

    def close(self) -> None:
        """End the threads, and wait for them."""
        self.end()
        while self in tuple(_RUNNING.values()):
            self.changed.get()
        with contextlib.suppress(Empty):
            while True:
                self.done.get_nowait()
        self.done.put(None)


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


@atexit.register
def _close_all() -> None:
    # A thread that runs while the interpreter shuts down may crash it.
    for work in tuple(_RUNNING.values()):
        work.close()
