"""Memory used again: the first touch of a fresh page costs more than a copy."""

from __future__ import annotations

import sys
import threading

import numpy as np
import numpy.typing as npt

_MAX_POOLED = 64


def _count_when_free() -> int:
    """References to something that only a list and the loop over it refer to.

    The list's, the loop's and the argument's make three; Python 3.14 borrows some of them. So it is
    asked, by the same loop that asks later.
    """
    for item in [np.empty(0, np.uint8)]:
        return sys.getrefcount(item)
    raise AssertionError("the list has an item")


_COUNT_WHEN_FREE = _count_when_free()


class BufferPool:
    """Byte arrays that are handed out again once nobody refers to them.

    Views count as references, so a block that somebody kept is never written over.
    """

    def __init__(self) -> None:
        self._arrays: list[npt.NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> npt.NDArray[np.uint8]:
        """An array of at least `size` bytes, with anything in it."""
        with self._lock:
            for array in self._arrays:
                if array.size >= size and sys.getrefcount(array) == _COUNT_WHEN_FREE:
                    return array
            fresh = np.empty(1 << max(12, (size - 1).bit_length()), np.uint8)
            if len(self._arrays) < _MAX_POOLED:
                self._arrays.append(fresh)
            return fresh
