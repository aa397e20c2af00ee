"""Work that grows with the size of its input, and no faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def check_linear(act: Callable[[int], object], size: int, *, tries: int = 4) -> None:
    """Twice as much takes less than three times as long; a square would take four times.

    Seconds are those of this thread's CPU: other processes do not count, nor do two milliseconds.
    Each try has twice the size of the one before: caches and the allocator have steps, a square
    is one at every size.
    """

    def seconds(number: int) -> float:
        start = time.thread_time()
        act(number)
        return time.thread_time() - start

    seconds(max(1, size // 20))  # whatever is imported or compiled once
    gc.disable()
    try:
        for _ in range(tries):
            once = min(seconds(size), seconds(size))
            twice = min(seconds(2 * size), seconds(2 * size))  # memory is touched first
            if twice < 3 * once + 0.002:
                return
            size *= 2
    finally:
        gc.enable()
    raise AssertionError(f"{size // 2} took {once:.4f} s, twice as much {twice:.4f} s")
