"""MessagePack: as much of it as checkpoints use, strict and bounded.

A decoder takes each length against the bytes that are left before it makes anything, goes at most
64 levels deep, and leaves nothing unread. Extensions are given to a function of the caller.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_MAX_DEPTH = 64
_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
_NUMBERS |= {0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# Code → (kind, bytes of the length that follows).
_SIZED = {
    0xC4: ("bin", 1),
    0xC5: ("bin", 2),
    0xC6: ("bin", 4),
    0xC7: ("ext", 1),
    0xC8: ("ext", 2),
    0xC9: ("ext", 4),
    0xD9: ("str", 1),
    0xDA: ("str", 2),
    0xDB: ("str", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}
_FIXED_EXT = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}


@dataclass(frozen=True)
class Ext:
    """Bytes of a type that MessagePack itself does not know; in pieces, to be written in order."""

    code: int
    pieces: tuple[bytes | memoryview, ...]


def decode(data: bytes | memoryview, *, ext: Callable[[int, memoryview], Any]) -> Any:
    """The one value that the bytes are; byte strings come as views of them."""
    reader = _Reader(memoryview(data), ext)
    value = reader.value(0)
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at:,} bytes after the end of the value")
    return value


class _Reader:
    def __init__(self, data: memoryview, ext: Callable[[int, memoryview], Any]) -> None:
        self._data = data
        self._ext = ext
        self.at = 0

    def _take(self, num_bytes: int) -> memoryview:
        left = len(self._data) - self.at
        if num_bytes > left:
            raise ValueError(f"byte {self.at:,}: {num_bytes:,} bytes expected, {left:,} left")
        self.at += num_bytes
        return self._data[self.at - num_bytes : self.at]

    def value(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"byte {self.at:,}: more than {_MAX_DEPTH} levels deep")
        start = self.at
        code = self._take(1)[0]
        if code < 0x80:
            return code
        if code >= 0xE0:
            return code - 0x100
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _NUMBERS:
            form = struct.Struct(_NUMBERS[code])
            return form.unpack(self._take(form.size))[0]
        if code in _FIXED_EXT:
            return self._sized("ext", _FIXED_EXT[code], depth)
        if code in _SIZED:
            kind, width = _SIZED[code]
            return self._sized(kind, int.from_bytes(self._take(width), "big"), depth)
        if code < 0x90:
            return self._sized("map", code & 15, depth)
        if code < 0xA0:
            return self._sized("array", code & 15, depth)
        if code < 0xC0:
            return self._sized("str", code & 31, depth)
        raise ValueError(f"byte {start:,}: {code:#x} means nothing")

    def _sized(self, kind: str, size: int, depth: int) -> Any:
        if kind == "bin":
            return self._take(size)
        if kind == "str":
            return str(self._take(size), "utf-8")
        if kind == "ext":
            code = struct.unpack(">b", self._take(1))[0]
            return self._ext(code, self._take(size))
        if size * (2 if kind == "map" else 1) > len(self._data) - self.at:
            raise ValueError(f"byte {self.at:,}: {size:,} elements cannot be in what is left")
        if kind == "array":
            return [self.value(depth + 1) for _ in range(size)]
        table: dict[str | int, Any] = {}
        for _ in range(size):
            key = self.value(depth + 1)
            if not isinstance(key, str | int):
                raise ValueError(f"byte {self.at:,}: a key is a {type(key).__name__}")
            if key in table:
                raise ValueError(f"byte {self.at:,}: the key {key!r} is there twice")
            table[key] = self.value(depth + 1)
        return table


def encode(value: Any, *, ext: Callable[[Any], Ext]) -> Iterator[bytes | memoryview]:
    """Bytes of a value, in pieces; what MessagePack lacks goes through `ext`."""
    if value is None or isinstance(value, bool):
        yield {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    elif type(value) is int:
        yield _encode_int(value)
    elif type(value) is float:
        yield struct.pack(">Bd", 0xCB, value)
    elif type(value) is str:
        text = value.encode("utf-8")
        yield _head(len(text), fixed=(0xA0, 32), codes=(0xD9, 0xDA, 0xDB)) + text
    elif isinstance(value, bytes | memoryview):
        yield _head(len(value), codes=(0xC4, 0xC5, 0xC6))
        yield value
    elif isinstance(value, list | tuple):
        yield _head(len(value), fixed=(0x90, 16), codes=(None, 0xDC, 0xDD))
        for element in value:
            yield from encode(element, ext=ext)
    elif isinstance(value, dict):
        yield _head(len(value), fixed=(0x80, 16), codes=(None, 0xDE, 0xDF))
        for key, element in value.items():
            if type(key) not in (str, int):
                raise ValueError(f"a key is a string or an integer, not {key!r}")
            yield from encode(key, ext=ext)
            yield from encode(element, ext=ext)
    else:
        extension = ext(value)
        size = sum(map(len, extension.pieces))
        fixed = {length: code for code, length in _FIXED_EXT.items()}.get(size)
        head = bytes([fixed]) if fixed else _head(size, codes=(0xC7, 0xC8, 0xC9))
        yield head + struct.pack(">b", extension.code)
        yield from extension.pieces


def _head(
    size: int, *, codes: tuple[int | None, int, int], fixed: tuple[int, int] | None = None
) -> bytes:
    if fixed is not None and size < fixed[1]:
        return bytes([fixed[0] | size])
    for code, form, limit in zip(codes, (">BB", ">BH", ">BI"), (8, 16, 32), strict=True):
        if code is not None and size < 1 << limit:
            return struct.pack(form, code, size)
    raise ValueError(f"MessagePack holds at most 4 GiB in one piece, not {size:,} bytes")


def _encode_int(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b" if value < 0 else ">B", value)
    unsigned = ((0xCC, ">BB", 8), (0xCD, ">BH", 16), (0xCE, ">BI", 32), (0xCF, ">BQ", 64))
    signed = ((0xD0, ">Bb", 7), (0xD1, ">Bh", 15), (0xD2, ">Bi", 31), (0xD3, ">Bq", 63))
    for code, form, bits in unsigned if value >= 0 else signed:
        if -(1 << bits) <= value < 1 << bits:
            return struct.pack(form, code, value)
    raise ValueError(f"MessagePack holds integers of 64 bits, not {value}")
