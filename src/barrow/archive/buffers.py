"""Reused memory: the first touch of a new page costs more than a copy."""

from __future__ import annotations

import sys
import threading

import numpy as np
import numpy.typing as npt

_MAX_POOLED = 64


def _count_when_free() -> int:
    """The reference count of something that only a list and the loop over it refer to.

    The list, the loop and the argument make three, but Python 3.14 borrows some. So it is measured
    with the loop that uses it.
    """
    for item in [np.empty(0, np.uint8)]:
        return sys.getrefcount(item)
    raise AssertionError("the list has an item")


_COUNT_WHEN_FREE = _count_when_free()


class BufferPool:
    """Byte arrays that are reused once nothing refers to them.

    Views count as references, so a block that is still in use is never overwritten.
    """

    def __init__(self) -> None:
        self._arrays: list[npt.NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> npt.NDArray[np.uint8]:
        """An uninitialised array of at least `size` bytes."""
        with self._lock:
            for array in self._arrays:
                if array.size >= size and sys.getrefcount(array) == _COUNT_WHEN_FREE:
                    return array
            fresh = np.empty(1 << max(12, (size - 1).bit_length()), np.uint8)
            if len(self._arrays) < _MAX_POOLED:
                self._arrays.append(fresh)
            return fresh
