"""The arrays of a token store or an index: safetensors with a JSON note, checked and mapped."""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import StoreError, WeightsError
from barrow.files import safetensors
from barrow.files.dtypes import dtype_of
from barrow.files.safetensors import Column

_NOTE = "barrow"

# The alignment of the data, so that arrays of a mapped file are aligned.
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Place:
    """An array in a file: its bytes begin at `start`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file; `note` is the JSON value it was written with."""

    places: Mapping[str, Place]
    note: Any


@dataclass(frozen=True, slots=True)
class Written:
    """A file as it was written."""

    bytes: int
    sha256: str


def write_arrays(path: Path, columns: Mapping[str, Column], *, note: Any) -> Written:
    """Write a file; wide elements are given first, so that every array is aligned without gaps.

    The note is one JSON string: the order in which the library would write several is not fixed.
    """
    metadata = {_NOTE: json.dumps(note, sort_keys=True)}
    written = safetensors.write_arrays(path, columns, metadata=metadata, alignment=_ALIGNMENT)
    return Written(written.num_bytes, written.sha256)


def read_header(path: Path) -> Header:
    """The header of a file, after checking that it describes exactly the bytes that are there."""
    try:
        header = safetensors.read_header(path)
        note = json.loads(header.metadata[_NOTE]) if _NOTE in header.metadata else None
    except (WeightsError, ValueError, RecursionError) as error:
        raise StoreError(
            f"expected the safetensors header of these bytes: {getattr(error, 'cause', error)}",
            reason="bad-header",
            file=path.name,
        ) from None
    spans = sorted(header.spans.items(), key=lambda item: item[1].start)
    return Header({name: Place(dtype_of(s.dtype), s.shape, s.start) for name, s in spans}, note)


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
    """Rows of an array, some at a time, copied to memory; nothing stays mapped."""
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
