"""Arrays in a file: safetensors, written as a stream, checked strictly, and mapped.

The library's own writer wants whole arrays in memory, and its NumPy reader copies them. The layout
is a header length (8 bytes, little-endian), a JSON header, and the arrays one after another.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import StoreError

_DTYPES: dict[str, np.dtype[Any]] = {
    "U8": np.dtype("<u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LENGTH = 8

# What the data begins at a multiple of, so that no array of a mapped file lies askew.
_ALIGNMENT = 64
_LARGEST_HEADER = 1 << 27


@dataclass(frozen=True, slots=True)
class Column:
    """An array to be written: `parts`, one after another, are its rows."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    parts: Iterable[npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """An array in a file: its bytes begin at `start`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself; `note` is the JSON value it was written with."""

    places: Mapping[str, Place]
    note: Any


@dataclass(frozen=True, slots=True)
class Written:
    """A file as it was written."""

    bytes: int
    sha256: str


def write_arrays(path: Path, columns: Mapping[str, Column], *, note: Any) -> Written:
    """Write a file; wide elements come first, so that every array is aligned without gaps.

    The note is one JSON string: the order in which the library would write several is not fixed.
    """
    described: dict[str, Any] = {"__metadata__": {"barrow": json.dumps(note, sort_keys=True)}}
    at = 0
    for name, column in columns.items():
        size = math.prod(column.shape) * column.dtype.itemsize
        assert at % column.dtype.itemsize == 0, "columns are given widest first"
        described[name] = {
            "dtype": _NAMES[column.dtype],
            "shape": list(column.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-(_LENGTH + len(text)) % _ALIGNMENT)
    hashed = hashlib.sha256()
    with path.open("xb", buffering=0) as file:

        def put(data: Any) -> int:
            rest = memoryview(data).cast("B")
            hashed.update(rest)
            size = len(rest)
            while rest:
                rest = rest[file.write(rest) :]
            return size

        total = put(len(text).to_bytes(_LENGTH, "little")) + put(text)
        for name, column in columns.items():
            start, stop = described[name]["data_offsets"]
            size = 0
            for part in column.parts:
                if part.size:  # an empty view cannot be cast
                    size += put(np.ascontiguousarray(part, column.dtype))
            assert size == stop - start, f"{name} has {size} bytes, {stop - start} were announced"
            total += size
    return Written(total, hashed.hexdigest())


def read_header(path: Path) -> Header:
    """The header of a file, after checking that it describes exactly the bytes that are there."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if size < _LENGTH or length > min(size - _LENGTH, _LARGEST_HEADER):
            raise StoreError(
                f"expected a header of {length:,} bytes, found {max(0, size - _LENGTH):,} bytes "
                "after its length; the file was cut off, or is no array file",
                reason="bad-header",
                file=path.name,
            )
        text = file.read(length)
    try:
        described = json.loads(text)
        told = described.pop("__metadata__", {})
        note = json.loads(told["barrow"]) if "barrow" in told else None
        entries = {name: _entry(**entry) for name, entry in described.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"expected a safetensors header, found one that is not ({error})",
            reason="bad-header",
            file=path.name,
        ) from None
    at = 0
    places = {}
    for name, (dtype, shape, start, stop) in sorted(entries.items(), key=lambda e: e[1][2:]):
        wanted = math.prod(shape) * dtype.itemsize
        if start != at or stop - start != wanted:
            raise StoreError(
                f"array {name!r} should take bytes {at:,} to {at + wanted:,} of the data, the "
                f"header says {start:,} to {stop:,}",
                reason="bad-header",
                file=path.name,
            )
        places[name] = Place(dtype, shape, _LENGTH + length + start)
        at = stop
    if _LENGTH + length + at != size:
        raise StoreError(
            f"expected {_LENGTH + length + at:,} bytes, found {size:,}; the file was cut off, or "
            "something was added to it",
            reason="wrong-size",
            file=path.name,
        )
    return Header(places, note)


def _entry(
    *, dtype: str, shape: Sequence[int], data_offsets: Sequence[int]
) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    start, stop = data_offsets
    for number in (*shape, start, stop):
        if type(number) is not int or number < 0:
            raise ValueError(f"{number!r} is no size")
    if dtype not in _DTYPES:
        raise ValueError(f"dtype {dtype!r} is not one of {', '.join(_DTYPES)}")
    return _DTYPES[dtype], tuple(shape), start, stop


def map_arrays(
    path: Path, expected: Mapping[str, tuple[np.dtype[Any], int]]
) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """The arrays of a file, mapped into memory and read-only, and its note.

    `expected` are the names, each with a dtype and a number of dimensions.
    """
    header = read_header(path)
    found = {name: (p.dtype, len(p.shape)) for name, p in header.places.items()}
    if found != dict(expected):
        raise StoreError(
            f"expected arrays {_in_words(expected)}, found {_in_words(found)}",
            reason="bad-header",
            file=path.name,
        )
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    arrays = {
        name: np.frombuffer(data, p.dtype, math.prod(p.shape), p.start).reshape(p.shape)
        for name, p in header.places.items()
    }
    return arrays, header.note


def _in_words(arrays: Mapping[str, tuple[np.dtype[Any], int]]) -> str:
    return ", ".join(f"{name} ({dtype}, {num}-d)" for name, (dtype, num) in sorted(arrays.items()))


def read_rows(
    path: Path, place: Place, start: int, stop: int, *, num_elements: int = 1 << 22
) -> Iterator[npt.NDArray[Any]]:
    """Rows of an array, some at a time, in memory of their own; nothing stays mapped."""
    width = math.prod(place.shape[1:])
    step = max(1, num_elements // max(1, width))
    for at in range(start, stop, step):
        num = min(step, stop - at)
        offset = place.start + at * width * place.dtype.itemsize
        rows = np.fromfile(path, place.dtype, num * width, offset=offset)
        if len(rows) != num * width:
            raise StoreError(
                f"expected {num * width:,} numbers at byte {offset:,}, found {len(rows):,}",
                reason="wrong-size",
                file=path.name,
            )
        yield rows.reshape(num, *place.shape[1:])
