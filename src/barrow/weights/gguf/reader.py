"""The reader of the library `gguf`, with bounds, and with arrays read at once.

The library truncates silently where a length is past the end of the file, and makes several objects
for each element of an array: a vocabulary of 128,000 pieces and its merges takes 720 MB and half a
minute, a count of 2⁶⁰ all memory.
"""

from __future__ import annotations

import struct
from typing import Any

import gguf
import numpy as np
from gguf.constants import GGUFValueType

_LENGTH = struct.Struct("<Q")


class BoundedReader(gguf.GGUFReader):
    """Reads a little-endian file; bytes past its end, and arrays in arrays, are a ValueError.

    An array of numbers is one part of its field, as an array; one of strings also, as a list.
    """

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
        num_bytes = np.dtype(dtype).itemsize * int(count)
        if offset + num_bytes > self.data.size:
            left = max(0, self.data.size - offset)
            raise ValueError(f"byte {offset:,}: {num_bytes:,} bytes expected, {left:,} are left")
        return super()._get(offset, dtype, count, override_order)

    def _get_field_parts(
        self, orig_offs: int, raw_type: int
    ) -> tuple[int, list[Any], list[int], list[GGUFValueType]]:
        if raw_type != GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        kind = GGUFValueType(self._get(orig_offs, np.uint32)[0])
        count = int(self._get(orig_offs + 4, np.uint64)[0])
        start, number = orig_offs + 12, self.gguf_scalar_to_np.get(kind)
        values: Any
        if number is not None:
            values = self._get(start, number, count).view(np.ndarray)
            end = start + values.nbytes
        elif kind == GGUFValueType.STRING:
            values, end = self._strings(start, count)
        else:
            raise ValueError(f"byte {orig_offs:,}: an array of arrays is not supported")
        return end - orig_offs, [values], [0], [GGUFValueType.ARRAY, kind]

    def _strings(self, at: int, count: int) -> tuple[list[str], int]:
        memory: memoryview = self.data.data
        texts: list[str] = []
        for _ in range(count):
            stop = at + 8 + (_LENGTH.unpack_from(memory, at)[0] if at + 8 <= len(memory) else 0)
            if stop > len(memory):
                raise ValueError(f"byte {at:,}: string {len(texts):,} ends past the file")
            texts.append(str(memory[at + 8 : stop], "utf-8"))
            at = stop
        return texts, at


def value_of(field: gguf.ReaderField) -> Any:
    """A value of metadata: a number, a string, an array of numbers or a list of strings."""
    if field.types[0] == GGUFValueType.ARRAY:
        return field.parts[field.data[0]]
    return field.contents()
