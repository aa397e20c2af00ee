"""Flax's checkpoints: a tree of dicts in MessagePack, with arrays as extensions.

Extension 1 is an array and 3 a NumPy scalar, as (shape, name of the type, bytes); 2 is a complex
number. An array of more than a gibibyte is a dict of flat chunks. msgspec encodes and decodes.
"""

from __future__ import annotations

import math
import os
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import WeightsError
from barrow.files import WrittenFile, atomic_file
from barrow.files.dtypes import extended
from barrow.weights.mapped_file import MappedFile
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
    import msgspec

    file = MappedFile(path)
    try:
        return _joined(msgspec.msgpack.decode(file.memory(), ext_hook=_from_ext))
    except (ValueError, TypeError, RecursionError) as error:
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
        for piece in _encoded(_cut(tree, max_chunk_bytes)):
            writer.write(piece)
    return writer.written


def _from_ext(code: int, data: memoryview) -> Any:
    from msgspec import msgpack

    if code == _COMPLEX:
        return complex(*msgpack.decode(data, type=tuple[float, float]))
    if code not in (_ARRAY, _SCALAR):
        raise ValueError(f"an extension of type {code}, which Flax does not write")
    # The name is a string, or bytes where an older Flax wrote it.
    shape, name, elements = msgpack.decode(data, type=tuple[list[int], Any, memoryview])
    if min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape}")
    name = str(name, "ascii") if isinstance(name, bytes) else name
    dtype = _dtype(name)
    if math.prod(shape) * dtype.itemsize != len(elements):
        raise ValueError(f"{len(elements):,} bytes for an array of {dtype}, shape {shape}")
    array = (
        np.frombuffer(elements, dtype).reshape(shape) if len(elements) else np.empty(shape, dtype)
    )
    return array[()] if code == _SCALAR else array


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
    if not all(isinstance(key, str | int) for key in tree):
        raise ValueError(f"keys must be strings or integers, got {list(tree)[:3]}")
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


def _encoded(tree: Any) -> Iterator[bytes]:
    """Bytes of a tree, a leaf at a time."""
    from msgspec import msgpack

    if isinstance(tree, dict):
        yield _head(len(tree), short=0x80, long=0xDE)
        for key, value in tree.items():
            if type(key) not in (str, int):
                raise ValueError(f"a key must be a string or an integer, got {key!r}")
            yield msgpack.encode(key)
            yield from _encoded(value)
    elif isinstance(tree, list):
        yield _head(len(tree), short=0x90, long=0xDC)
        for value in tree:
            yield from _encoded(value)
    elif tree is None or type(tree) in (bool, int, float, str, bytes, memoryview):
        try:
            yield msgpack.encode(tree)
        except OverflowError:
            raise ValueError(f"MessagePack holds 64-bit integers, got {tree}") from None
    else:
        code, parts = _parts(tree)
        yield msgpack.encode(msgpack.Ext(code, msgpack.encode(parts)))


def _head(size: int, *, short: int, long: int) -> bytes:
    if size < 16:
        return bytes([short | size])
    return struct.pack(">BH", long, size) if size < 1 << 16 else struct.pack(">BI", long + 1, size)


def _parts(value: Any) -> tuple[int, list[Any]]:
    """The code of Flax's extension for this value, and its contents."""
    if type(value) is complex:
        return _COMPLEX, [value.real, value.imag]
    if not (_is_array(value) or isinstance(value, np.generic)):
        raise ValueError(f"a Flax checkpoint cannot hold a {type(value).__name__}")
    array: Array = np.asarray(value)
    _dtype(array.dtype.name)
    flat = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    code = _SCALAR if isinstance(value, np.generic) else _ARRAY
    return code, [list(array.shape), array.dtype.name, flat.data]
