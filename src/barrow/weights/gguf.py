"""Open GGUF, the file format of llama.cpp: metadata, and tensors decoded when asked for.

A file is: magic ``GGUF``, version, number of tensors, number of metadata pairs; the pairs; name,
shape, type and offset of each tensor; padding; the tensors, each at a multiple of the alignment.
Versions 2 and 3, little-endian.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.gguf_cursor import Cursor
from barrow.weights.gguf_types import OTHERS, TYPES, ElementType
from barrow.weights.mapped_file import MappedFile
from barrow.weights.tensors import Array, LazyTensor, Tensors, is_possible

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_DIMS = 4
_DEFAULT_ALIGNMENT = 32
_LEAST_PAIR = 8 + 4 + 1
_LEAST_TENSOR = 8 + 4 + 4 + 8


@dataclass(frozen=True)
class GgufTensor:
    """A tensor as the file has it: element type, shape with the fastest dimension last, place."""

    type: ElementType
    shape: tuple[int, ...]
    start: int
    num_bytes: int


@dataclass(frozen=True)
class Gguf:
    """An open file.

    `tensors` gives floats as float32, whatever they are stored as; `stored` says how each is
    stored.
    """

    path: str
    version: int
    metadata: Mapping[str, Any]
    stored: Mapping[str, GgufTensor]
    tensors: Tensors


def open_gguf(path: str | os.PathLike[str]) -> Gguf:
    """Read the metadata and the table of tensors, and check both; elements stay on the disk."""
    file = MappedFile(path)
    if file.size < 24 or file.read(0, 4) != _MAGIC:
        found = file.read(0, 4)
        raise WeightsError(f"expected {_MAGIC!r} at the start, found {found!r}", path=path)
    cursor = Cursor(file)
    cursor.take(4, "the magic")
    version = cursor.u32("the version")
    if version not in _VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS
        what = "a big-endian file" if swapped else f"version {version}"
        raise WeightsError(f"expected GGUF version 2 or 3, found {what}: convert it", path=path)
    num_tensors = cursor.count("tensors", least=_LEAST_TENSOR)
    num_pairs = cursor.count("metadata pairs", least=_LEAST_PAIR)
    metadata = _read_metadata(cursor, num_pairs)
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 8 or alignment % 8 or alignment > 1 << 30:
        raise WeightsError(f"an alignment of {alignment!r}; expected a multiple of 8", path=path)
    claims = [_read_claim(cursor) for _ in range(num_tensors)]
    data_start = -(-cursor.at // alignment) * alignment
    stored: dict[str, GgufTensor] = {}
    for name, kind, shape, offset in claims:
        if name in stored:
            raise WeightsError("is there twice", path=path, tensor=name)
        stored[name] = _check(file, name, kind, shape, offset, data_start, alignment)
    _check_overlap(file, stored)
    return Gguf(
        str(path),
        version,
        metadata,
        stored,
        Tensors({name: _lazy(file, tensor) for name, tensor in stored.items()}),
    )


def _read_metadata(cursor: Cursor, num_pairs: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for _ in range(num_pairs):
        start = cursor.at
        key = cursor.string("a key")
        if key in metadata:
            raise cursor.wrong(f"the key {key!r} is there twice", at=start)
        metadata[key] = cursor.value(cursor.u32(f"the type of {key!r}"), repr(key))
    return metadata


def _read_claim(cursor: Cursor) -> tuple[str, int, tuple[int, ...], int]:
    name = cursor.string("a tensor's name")
    num_dims = cursor.u32(f"the dimensions of {name!r}")
    if num_dims > _MAX_DIMS:
        raise cursor.wrong(f"{name!r} has {num_dims:,} dimensions, at most {_MAX_DIMS} are allowed")
    dims = [cursor.u64(f"the shape of {name!r}") for _ in range(num_dims)]
    kind = cursor.u32(f"the type of {name!r}")
    # GGUF names the fastest dimension first, NumPy last.
    return name, kind, tuple(reversed(dims)), cursor.u64(f"the offset of {name!r}")


def _check(
    file: MappedFile,
    name: str,
    kind: int,
    shape: tuple[int, ...],
    offset: int,
    data_start: int,
    alignment: int,
) -> GgufTensor:
    def wrong(cause: str) -> WeightsError:
        return WeightsError(cause, path=file.path, tensor=name)

    if kind not in TYPES:
        known = ", ".join(element.name for element in TYPES.values())
        raise wrong(f"type {OTHERS.get(kind, kind)} is not one that is read ({known})")
    element = TYPES[kind]
    if not is_possible(shape):
        raise wrong(f"no array can have the shape {list(shape)}")
    if (shape[-1] if shape else 1) % element.elements:
        raise wrong(f"rows of {list(shape)} are not whole blocks of {element.elements}")
    num_bytes = math.prod(shape) // element.elements * element.num_bytes
    if offset % alignment:
        raise wrong(f"offset {offset:,} is not a multiple of the alignment {alignment}")
    start = data_start + offset
    if start + num_bytes > file.size:
        raise wrong(
            f"{element.name} of shape {list(shape)} ends at byte {start + num_bytes:,}, "
            f"the file at {file.size:,}: cut short, or a lie"
        )
    return GgufTensor(element, shape, start, num_bytes)


def _check_overlap(file: MappedFile, stored: Mapping[str, GgufTensor]) -> None:
    at, before = 0, ""
    for name, tensor in sorted(stored.items(), key=lambda item: (item[1].start, item[1].num_bytes)):
        if tensor.start < at:
            raise WeightsError(f"overlaps {before!r}", path=file.path, tensor=name)
        at, before = tensor.start + tensor.num_bytes, name


def _lazy(file: MappedFile, tensor: GgufTensor) -> LazyTensor:
    def read() -> Array:
        raw = file.array(np.dtype(np.uint8), (tensor.num_bytes,), tensor.start)
        return tensor.type.decode(raw).reshape(tensor.shape)

    return LazyTensor(tensor.shape, tensor.type.dtype, read)
