"""Reused work arrays: touching new memory costs more than most kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Scratch:
    """Arrays by name, grown when they are too small.

    An array is valid until its name is taken again.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._parts: dict[str, Scratch] = {}

    def part(self, name: str) -> Scratch:
        """Arrays of their own, for work that must leave the others as they are."""
        return self._parts.setdefault(name, Scratch())

    def take(self, name: str, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An uninitialised array of `size` elements."""
        array = self._arrays.get(name)
        if array is None or len(array) < size or array.dtype != np.dtype(dtype):
            self._arrays.pop(name, None)  # release the old one first
            array = self._arrays[name] = np.empty(size + size // 4, dtype)
        return array[:size]
