"""Batches prepared ahead on threads, handed over in order, and nothing left behind.

A batch is a function of its step, so running ahead needs no state but the next step's number.
NumPy lets go of the interpreter lock while it copies, and so does a transfer to a device, so
threads suffice; there is no other process, no shared memory and no file that could be left over.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Prefetch(Generic[Item]):
    """An iterator of (step, `make(step)`) for steps from `start` to `stop`, or without end.

    At most `depth` results are ready or in the making, on `threads` threads. What `make` raises is
    raised when its step is asked for, and ends the iteration. The threads end with the iteration:
    at its last step, at `close()`, on leaving a `with`, when nobody holds the iterator any more,
    or when the interpreter exits.
    """

    def __init__(
        self,
        make: Callable[[int], Item],
        *,
        start: int = 0,
        stop: int | None = None,
        depth: int = 2,
        threads: int = 1,
    ) -> None:
        if start < 0:
            raise ValueError(f"steps begin at 0; there is no step {start}")
        if depth < 1 or threads < 1:
            raise ValueError(
                f"prefetching needs a depth and threads of at least 1, not {depth} and {threads}"
            )
        self._work = _Work(make, start, stop, depth)
        # The threads know the work, never this object, so that dropping it ends them.
        workers = [
            threading.Thread(target=self._work.run, name=f"barrow-prefetch-{number}", daemon=True)
            for number in range(min(threads, depth))
        ]
        self._finish = weakref.finalize(self, _finish, self._work, workers)
        for worker in workers:
            worker.start()

    def __iter__(self) -> Iterator[tuple[int, Item]]:
        return self

    def __next__(self) -> tuple[int, Item]:
        try:
            return self._work.next()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it; a batch in the making is finished and dropped."""
        self._finish()

    def __enter__(self) -> Prefetch[Item]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Work(Generic[Item]):
    """What threads and consumer share: which steps are taken, made, and handed over."""

    def __init__(
        self, make: Callable[[int], Item], start: int, stop: int | None, depth: int
    ) -> None:
        self._make = make
        self._stop = stop
        self._depth = depth
        self._taken = start
        self._wanted = start
        self._made: dict[int, Item | _Failure] = {}
        self._closed = False
        self._changed = threading.Condition()

    def run(self) -> None:
        """What a thread does: take a step, make it, until there is none."""
        while (step := self._take()) is not None:
            made: Item | _Failure
            try:
                made = self._make(step)
            except BaseException as error:  # noqa: BLE001 (whatever it is, the consumer gets it)
                made = _Failure(error)
            with self._changed:
                if not self._closed:
                    self._made[step] = made
                self._changed.notify_all()
            del made  # a waiting thread must not keep a batch alive

    def _take(self) -> int | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._over(self._taken) or self._has_room()
            )
            if self._closed or self._over(self._taken):
                return None
            self._taken += 1
            return self._taken - 1

    def next(self) -> tuple[int, Item]:
        with self._changed:
            step = self._wanted
            if self._over(step):
                raise StopIteration
            self._changed.wait_for(lambda: self._closed or step in self._made)
            if step not in self._made:
                raise StopIteration
            made = self._made.pop(step)
            self._wanted += 1
            self._changed.notify_all()
        if isinstance(made, _Failure):
            # Were it let through, this one would look like the end of the stream.
            if isinstance(made.error, StopIteration):
                raise RuntimeError(f"making step {step} raised StopIteration") from made.error
            raise made.error
        return step, made

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._made.clear()
            self._changed.notify_all()

    def _over(self, step: int) -> bool:
        return self._stop is not None and step >= self._stop

    def _has_room(self) -> bool:
        return self._taken < self._wanted + self._depth


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _finish(work: _Work[Item], workers: list[threading.Thread]) -> None:
    work.close()
    # The garbage collector may run on a worker, which holds what the others wait for; having been
    # told, they end by themselves.
    if threading.current_thread() not in workers:
        for worker in workers:
            if worker.is_alive():
                worker.join()
