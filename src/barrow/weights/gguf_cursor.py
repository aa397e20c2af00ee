"""Reading numbers, strings and values of GGUF one after another, never past the end."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.mapped_file import MappedFile

_NUMBERS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_BOOL, _STRING, _ARRAY = 7, 8, 9
_MAX_DEPTH = 4


class Cursor:
    """A place in a file, moved on by each read.

    A count is compared with the bytes that are left before anything is made of it, so a file never
    costs more memory than a small multiple of its own size.
    """

    def __init__(self, file: MappedFile) -> None:
        self._memory = memoryview(file.memory())
        self._path = file.path
        self.at = 0

    def wrong(self, cause: str, *, at: int | None = None) -> WeightsError:
        """An error at this byte."""
        return WeightsError(f"byte {self.at if at is None else at:,}: {cause}", path=self._path)

    def take(self, num_bytes: int, what: str) -> memoryview:
        """The next bytes."""
        left = len(self._memory) - self.at
        if num_bytes > left:
            raise self.wrong(f"{what} takes {num_bytes:,} bytes, {left:,} are left")
        self.at += num_bytes
        return self._memory[self.at - num_bytes : self.at]

    def u32(self, what: str) -> int:
        """An unsigned number of 4 bytes."""
        return int.from_bytes(self.take(4, what), "little")

    def u64(self, what: str) -> int:
        """An unsigned number of 8 bytes."""
        return int.from_bytes(self.take(8, what), "little")

    def count(self, what: str, *, least: int) -> int:
        """How many of something follow, each of at least so many bytes."""
        start = self.at
        count = self.u64(f"the number of {what}")
        left = len(self._memory) - self.at
        if count * least > left:
            raise self.wrong(f"{count:,} {what} cannot be in the {left:,} bytes left", at=start)
        return count

    def string(self, what: str) -> str:
        """A length and so many bytes of UTF-8."""
        start = self.at
        data = self.take(self.u64(f"the length of {what}"), what)
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError:
            raise self.wrong(f"{what} is not UTF-8", at=start) from None

    def value(self, kind: int, what: str, *, depth: int = 0) -> Any:
        """A value of metadata; arrays of numbers are NumPy arrays, other arrays are lists."""
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(dtype.itemsize, what), dtype)[0].item()
        if kind == _BOOL:
            return self._bools(1, what)[0]
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self._array(what, depth=depth + 1)
        raise self.wrong(f"{what} has the unknown type {kind}")

    def _array(self, what: str, *, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise self.wrong(f"{what} is arrays in arrays, more than {_MAX_DEPTH} deep")
        kind = self.u32(f"the type of {what}")
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            count = self.count(f"elements of {what}", least=dtype.itemsize)
            return np.frombuffer(self.take(count * dtype.itemsize, what), dtype)
        if kind == _BOOL:
            return self._bools(self.count(f"elements of {what}", least=1), what)
        if kind == _STRING:
            return self._strings(self.count(f"elements of {what}", least=8), what)
        if kind == _ARRAY:
            count = self.count(f"elements of {what}", least=12)
            return [self._array(what, depth=depth + 1) for _ in range(count)]
        raise self.wrong(f"{what} has elements of the unknown type {kind}")

    def _bools(self, count: int, what: str) -> list[bool]:
        data = bytes(self.take(count, what))
        if data.strip(b"\0\1"):
            raise self.wrong(f"{what} has a truth value that is neither 0 nor 1")
        return [byte == 1 for byte in data]

    def _strings(self, count: int, what: str) -> list[str]:
        # Vocabularies are of this kind: a tight loop, since there are hundreds of thousands.
        memory, length_of = self._memory, struct.Struct("<Q").unpack_from
        texts: list[str] = []
        at, end = self.at, len(self._memory)
        for _ in range(count):
            stop = at + 8 + length_of(memory, at)[0] if at + 8 <= end else end + 1
            if stop > end:
                raise self.wrong(f"{what}: element {len(texts):,} ends past the file", at=at)
            try:
                texts.append(str(memory[at + 8 : stop], "utf-8"))
            except UnicodeDecodeError:
                raise self.wrong(f"{what}: element {len(texts):,} is not UTF-8", at=at) from None
            at = stop
        self.at = at
        return texts
