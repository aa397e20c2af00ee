"""Batches prepared ahead on threads, handed over in order.

A batch is a function of its step, so running ahead needs no state but the next step's number.
NumPy releases the GIL while it copies, and so does a transfer to a device, so threads suffice;
there are no other processes, no shared memory and no temporary files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from barrow.ahead import Ahead

Item = TypeVar("Item")


class Prefetch(Generic[Item]):
    """An iterator of (step, `make(step)`) for steps from `start` to `stop`, or without end.

    At most `depth` results are ready or in progress, on `threads` threads. An error of `make` is
    raised at its step, and ends the iteration. `close()`, leaving a `with`, and the last step wait
    for the threads to end; if the iterator is dropped, they end by themselves.
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
            raise ValueError(f"start must be ≥ 0, got {start}")
        if depth < 1 or threads < 1:
            raise ValueError(f"depth and threads must be ≥ 1, got {depth} and {threads}")
        self._steps = itertools.count(start) if stop is None else iter(range(start, stop))
        self._ahead: Ahead[int, tuple[int, Item]] = Ahead(
            lambda step: (step, make(step)), threads=min(threads, depth)
        )
        self._put(depth)

    def __iter__(self) -> Iterator[tuple[int, Item]]:
        return self

    def __next__(self) -> tuple[int, Item]:
        try:
            found = next(self._ahead)
            self._put(1)
        except BaseException:
            self.close()
            raise
        return found

    def close(self) -> None:
        """End it; a batch in progress is finished and dropped."""
        self._ahead.close()

    def __enter__(self) -> Prefetch[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, count: int) -> None:
        for step in itertools.islice(self._steps, count):
            self._ahead.put(step)
