"""A file as memory: read-only arrays whose pages come from the disk when they are touched."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import NotFound, WeightsError
from barrow.weights.tensors import Array, LazyTensor


class MappedFile:
    """A file whose size is known and whose bytes are mapped at first use.

    What `array` gives is a view: it copies nothing and cannot be written. The file is mapped while
    a view exists; afterwards its pages no longer count as memory of this process. It must not be
    changed in place while a view exists; replacing it by another file of the same name is safe.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise NotFound(f"{self.path} does not exist")
        if not self.path.is_file():
            raise WeightsError("expected a file, found a folder", path=self.path)
        self.size = self.path.stat().st_size
        self._file: int | None = None
        self._map: Callable[[], mmap.mmap | None] = lambda: None

    def read(self, start: int, num_bytes: int) -> bytes:
        """Bytes from `start`; fewer only at the end of the file."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(num_bytes)

    def memory(self) -> mmap.mmap | bytes:
        """The whole file, mapped."""
        if self.size == 0:
            return b""
        mapped = self._map()
        if mapped is None:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDONLY)
                weakref.finalize(self, os.close, self._file)
            if os.fstat(self._file).st_size != self.size:
                raise WeightsError("the file changed after it was opened", path=self.path)
            mapped = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
            self._map = weakref.ref(mapped)
        return mapped

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...], start: int) -> Array:
        """Elements from byte `start`, as a view."""
        count = int(np.prod(shape, dtype=np.int64))
        if count == 0:
            return np.empty(shape, dtype)
        return np.frombuffer(self.memory(), dtype, count, start).reshape(shape)

    def lazy(self, dtype: np.dtype[Any], shape: tuple[int, ...], start: int) -> LazyTensor:
        """The same, read on first use."""
        return LazyTensor(shape, dtype, lambda: self.array(dtype, shape, start))


def release(array: Array) -> None:
    """Have the pages under a view of a mapped file no longer count as memory of this process.

    They come back when they are touched again. Arrays of other memory stay as they are.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    # Of a private mapping that was written, the changes would be lost.
    if not isinstance(owner, mmap.mmap) or not memoryview(owner).readonly or not array.size:
        return
    before = array.__array_interface__["data"][0] - np.frombuffer(owner, np.uint8, 1).ctypes.data
    steps = [step * (num - 1) for step, num in zip(array.strides, array.shape, strict=True)]
    start = before + sum(step for step in steps if step < 0)
    stop = before + sum(step for step in steps if step > 0) + array.itemsize
    start -= start % mmap.PAGESIZE
    owner.madvise(mmap.MADV_DONTNEED, start, stop - start)
