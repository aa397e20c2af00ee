"""Flax's checkpoints: a tree of dicts in MessagePack, with arrays as extensions.

Extension 1 is an array and 3 a NumPy scalar, as (shape, name of the type, bytes); 2 is a complex
number. An array of more than a gibibyte is a dict of flat chunks.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.atomic_file import WrittenFile, atomic_file
from barrow.weights.dtypes import extended
from barrow.weights.mapped_file import MappedFile
from barrow.weights.msgpack_codec import Ext, decode, encode
from barrow.weights.tensors import Array

_ARRAY, _COMPLEX, _SCALAR = 1, 2, 3
_CHUNKED = "__msgpack_chunked_array__"
_MAX_CHUNK = 1 << 30
_PLAIN = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")
_EXTENDED = re.compile(r"bfloat16|float8_\w+|u?int[24]|float4_\w+|float6_\w+")


def read_flax(path: str | os.PathLike[str]) -> Any:
    """The tree of a file: nested dicts of arrays, numbers and strings, as Flax restores it.

    Arrays are read-only views of the mapped file, but for those that were in chunks.
    """
    file = MappedFile(path)
    try:
        return _joined(decode(memoryview(file.memory()), ext=_from_ext))
    except (ValueError, TypeError) as error:
        raise WeightsError(f"not a Flax checkpoint: {error}", path=path) from None


def write_flax(
    path: str | os.PathLike[str], tree: Mapping[str, Any], *, max_chunk_bytes: int = _MAX_CHUNK
) -> WrittenFile:
    """Write a tree for `flax.serialization.msgpack_restore`; atomic, an array at a time.

    Leaves are arrays (NumPy or JAX), NumPy scalars, numbers, strings, bytes and None; branches are
    dicts, lists and tuples.
    """
    path = Path(path)
    with atomic_file(path) as writer:
        for piece in encode(_cut(tree, max_chunk_bytes), ext=_to_ext):
            writer.write(piece)
    return writer.as_written(path)


def _from_ext(code: int, data: memoryview) -> Any:
    if code == _COMPLEX:
        parts = decode(data, ext=_no_ext)
        if not isinstance(parts, list) or len(parts) != 2:
            raise ValueError("a complex number of other than two parts")
        return complex(parts[0], parts[1])
    if code not in (_ARRAY, _SCALAR):
        raise ValueError(f"an extension of type {code}, which Flax does not write")
    parts = decode(data, ext=_no_ext)
    if not isinstance(parts, list) or len(parts) != 3:
        raise ValueError("an array that is not shape, type and bytes")
    shape, name, elements = parts
    if not isinstance(elements, memoryview) or not _is_shape(shape):
        raise ValueError("an array that is not shape, type and bytes")
    name = str(name, "ascii") if isinstance(name, memoryview) else name
    dtype = _dtype(name)
    if math.prod(shape) * dtype.itemsize != len(elements):
        raise ValueError(f"{len(elements):,} bytes for an array of {dtype}, shape {shape}")
    array = (
        np.frombuffer(elements, dtype).reshape(shape) if len(elements) else np.empty(shape, dtype)
    )
    return array[()] if code == _SCALAR else array


def _no_ext(code: int, data: memoryview) -> Any:
    del data
    raise ValueError(f"an extension of type {code} inside another")


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and all(type(dim) is int and dim >= 0 for dim in shape)


def _dtype(name: Any) -> np.dtype[Any]:
    if isinstance(name, str) and _PLAIN.fullmatch(name):
        return np.dtype(name)
    if isinstance(name, str) and _EXTENDED.fullmatch(name):
        try:
            return extended(name)
        except AttributeError:
            pass
    raise ValueError(f"an array of type {name!r}")


def _joined(tree: Any) -> Any:
    """Put chunks together, wherever they are."""
    if isinstance(tree, list):
        return [_joined(element) for element in tree]
    if not isinstance(tree, dict):
        return tree
    if _CHUNKED not in tree:
        return {key: _joined(value) for key, value in tree.items()}
    shape, chunks = (_in_order(tree.get(name)) for name in ("shape", "chunks"))
    if not chunks or not all(isinstance(chunk, np.ndarray) and chunk.ndim == 1 for chunk in chunks):
        raise ValueError("a chunked array whose chunks are not flat arrays")
    if not _is_shape(shape) or math.prod(shape) != sum(map(len, chunks)):
        raise ValueError(f"chunks of {sum(map(len, chunks)):,} elements for the shape {shape}")
    return np.concatenate(chunks).reshape(shape)


def _in_order(table: Any) -> list[Any]:
    if not isinstance(table, dict) or set(table) != {str(i) for i in range(len(table))}:
        raise ValueError("a chunked array whose parts are not numbered from 0")
    return [table[str(i)] for i in range(len(table))]


def _cut(tree: Any, max_chunk_bytes: int) -> Any:
    if isinstance(tree, Mapping):
        return {key: _cut(value, max_chunk_bytes) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_cut(value, max_chunk_bytes) for value in tree]
    if not _is_array(tree) or tree.size * tree.dtype.itemsize <= max_chunk_bytes:
        return tree
    flat = np.asarray(tree).reshape(-1)
    step = max(1, max_chunk_bytes // flat.dtype.itemsize)
    chunks = [flat[start : start + step] for start in range(0, flat.size, step)]
    return {
        _CHUNKED: True,
        "shape": {str(i): dim for i, dim in enumerate(tree.shape)},
        "chunks": {str(i): chunk for i, chunk in enumerate(chunks)},
    }


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic)


def _to_ext(value: Any) -> Ext:
    if type(value) is complex:
        return Ext(_COMPLEX, tuple(encode([value.real, value.imag], ext=_to_ext)))
    if not (_is_array(value) or isinstance(value, np.generic)):
        raise ValueError(f"a Flax checkpoint cannot hold a {type(value).__name__}")
    array: Array = np.asarray(value)
    _dtype(array.dtype.name)
    little = array.dtype.newbyteorder("<")
    flat = np.ascontiguousarray(array, little).reshape(-1).view(np.uint8)
    parts = [list(array.shape), array.dtype.name, flat.data]
    return Ext(
        _SCALAR if isinstance(value, np.generic) else _ARRAY, tuple(encode(parts, ext=_to_ext))
    )
