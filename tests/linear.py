"""Work that grows with the size of its input, and no faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def check_linear(act: Callable[[int], object], size: int, *, tries: int = 5) -> None:
    """Twice as much takes less than three times as long; a square would take four times.

    Seconds are those of this thread's CPU, the best of some tries: other processes do not count.
    Two milliseconds more or less say nothing.
    """
    act(max(1, size // 20))  # whatever is imported or compiled once
    best = [float("inf")] * 2
    for _ in range(tries):
        for k in range(2):
            gc.disable()
            try:
                start = time.thread_time()
                act(size << k)
                best[k] = min(best[k], time.thread_time() - start)
            finally:
                gc.enable()
        if best[1] < 3 * best[0] + 0.002:
            return
    raise AssertionError(f"{size} took {best[0]:.4f} s, twice as much {best[1]:.4f} s")
