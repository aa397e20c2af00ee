"""Work on what comes next while the caller is busy with what came before."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], *, threads: int
) -> Iterator[Result]:
    """`map`, in order, with up to `threads` calls running ahead of the caller.

    Worth it where the function lets go of the interpreter lock, as decompression does. The pool
    lives as long as the iterator.
    """
    if threads < 2:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="barrow-ahead")
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
