"""Open GGUF, the file format of llama.cpp: metadata, and tensors decoded when they are read.

The library `gguf` reads the container and decodes the quantized types. Versions 2 and 3,
little-endian.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from barrow.errors import MissingExtra, WeightsError
from barrow.files.safetensors import is_possible
from barrow.weights.mapped_file import MappedFile
from barrow.weights.tensors import Array, LazyTensor, Packed, Tensors

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_AS_THEY_ARE = ("F32", "F64", "I8", "I16", "I32", "I64")
_CHUNK_ELEMENTS = 1 << 20  # decoded at a time, so that temporaries stay small


@dataclass(frozen=True)
class Gguf:
    """An open file.

    `tensors` gives floats as float32, however they are stored; `types` is the name of the type
    that each is stored as.
    """

    path: str
    version: int
    metadata: Mapping[str, Any]
    types: Mapping[str, str]
    tensors: Tensors


def open_gguf(path: str | os.PathLike[str]) -> Gguf:
    """Read the metadata and the table of tensors, and check both; elements stay on the disk."""
    version = _version(MappedFile(path))
    try:
        from barrow.weights.gguf.reader import BoundedReader, value_of
    except ImportError:
        raise MissingExtra("gguf", "gguf", "reading a GGUF file") from None
    try:
        with np.errstate(over="raise"):
            reader = BoundedReader(path)
        fields = {k: f for k, f in reader.fields.items() if not k.startswith("GGUF.")}
        metadata = {key: value_of(field) for key, field in fields.items()}
    except (ValueError, LookupError, ArithmeticError) as error:
        raise WeightsError(f"not a valid GGUF file: {error}", path=path) from None
    _check_overlap(path, reader)
    entries = {tensor.name: _entry(path, tensor) for tensor in reader.tensors}
    types = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    return Gguf(str(path), version, metadata, types, Tensors(entries))


def _version(file: MappedFile) -> int:
    head = file.read(0, 8)
    if len(head) < 8 or head[:4] != _MAGIC:
        raise WeightsError(
            f"expected {_MAGIC!r} at the start, found {head[:4]!r}: not a GGUF file", path=file.path
        )
    version = int.from_bytes(head[4:], "little")
    if version not in _VERSIONS:
        swapped = int.from_bytes(head[4:], "big") in _VERSIONS
        what = "a big-endian file" if swapped else f"version {version}"
        raise WeightsError(
            f"expected GGUF version 2 or 3, found {what}: convert it", path=file.path
        )
    return version


def _check_overlap(path: str | os.PathLike[str], reader: Any) -> None:
    at, before = int(reader.data_offset), "the header"
    for tensor in sorted(reader.tensors, key=lambda t: (t.data_offset, t.n_bytes)):
        if tensor.data_offset < at:
            raise WeightsError(f"overlaps {before}", path=path, tensor=tensor.name)
        at, before = tensor.data_offset + tensor.n_bytes, tensor.name


def _entry(path: str | os.PathLike[str], tensor: Any) -> LazyTensor:
    # GGUF names the fastest dimension first, NumPy last.
    shape = tuple(reversed(tensor.shape.tolist()))
    if not is_possible(shape):
        raise WeightsError(f"invalid shape {list(shape)}", path=path, tensor=tensor.name)
    data = np.atleast_1d(tensor.data.view(np.ndarray))
    if tensor.tensor_type.name in _AS_THEY_ARE:
        return LazyTensor(shape, data.dtype, lambda: data.reshape(shape))
    from gguf import GGML_QUANT_SIZES, dequantize

    decode = partial(dequantize, qtype=tensor.tensor_type)
    if tensor.tensor_type.name != "F16":
        try:
            decode(np.zeros((1, GGML_QUANT_SIZES[tensor.tensor_type][1]), np.uint8))
        except NotImplementedError as error:
            raise WeightsError(str(error), path=path, tensor=tensor.name) from None

    def read() -> Array:
        out = np.empty(shape, np.float32)
        if not data.size:
            return out
        rows, decoded = data.reshape(-1, data.shape[-1]), out.reshape(-1, shape[-1] if shape else 1)
        step = max(1, _CHUNK_ELEMENTS // decoded.shape[-1])
        # Hostile scales may be infinite or NaN; that is not worth a warning.
        with np.errstate(all="ignore"):
            for start in range(0, len(rows), step):
                decoded[start : start + step] = decode(rows[start : start + step])
        return out

    packed = None
    if len(shape) == 2 and data.size:
        stored = data.reshape(shape[0], -1)
        packed = Packed(tensor.tensor_type.name, lambda: stored)
    return LazyTensor(shape, np.dtype(np.float32), read, packed)
