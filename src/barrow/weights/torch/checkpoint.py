"""Open PyTorch's zip checkpoints and TorchScript archives, without PyTorch; nothing is run.

The structure is read by `restricted_pickle`: arrays, containers, numbers and strings, or a refusal
by name. Tensors stay in the file until they are accessed. Of a TorchScript archive only the
attributes are read, not the code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.mapped_file import MappedFile
from barrow.weights.tensors import Array, LazyTensor, Tensors
from barrow.weights.torch.pickled_arrays import (
    ElementType,
    NumpyArray,
    NumpyDtype,
    Storage,
    StorageKind,
    meanings_of,
)
from barrow.weights.torch.restricted_pickle import Global, Instance, Refused, load
from barrow.weights.torch.stored_zip import StoredZip

_MAX_PICKLE = 256 << 20
_MAX_NODES = 500_000
_MAX_DEPTH = 100
_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"  # the number that torch.save wrote before 1.6


@dataclass(frozen=True)
class TorchCheckpoint:
    """What a file holds.

    `values` is its structure: dicts, lists and tuples of numbers, strings and `LazyTensor`s; an
    object of TorchScript is the dict of its attributes, an element type is its name. `tensors` are
    all arrays by their path, such as ``model.layers.0.weight``.
    """

    values: Any
    tensors: Tensors
    is_script: bool


def open_torch(path: str | os.PathLike[str]) -> TorchCheckpoint:
    """Open what `torch.save` (1.6 or later) or `torch.jit.save` wrote."""
    file = MappedFile(path)
    _check_kind(file)
    archive = StoredZip(file)
    root = _root(archive, file)
    scripted = f"{root}/constants.pkl" in archive.names
    if f"{root}/byteorder" in archive.names:
        order = archive.read(f"{root}/byteorder").tobytes()
        if order != b"little":
            raise WeightsError(f"expected byte order 'little', found {order!r}", path=path)
    if archive.size(f"{root}/data.pkl") > _MAX_PICKLE:
        raise WeightsError(f"data.pkl is larger than {_MAX_PICKLE:,} bytes", path=path)

    def read(key: str) -> Array:
        return archive.read(f"{root}/data/{key}")

    def size_of(key: str) -> int:
        return archive.size(f"{root}/data/{key}")

    meanings = meanings_of(read=read, size_of=size_of, scripted=scripted)
    try:
        values = _Plain().of(load(archive.read(f"{root}/data.pkl").tobytes(), meanings=meanings))
        tensors: dict[str, LazyTensor] = {}
        for name, tensor in _walk(values, ""):
            if name in tensors:
                raise Refused(f"two tensors have the path {name!r}")
            tensors[name] = tensor
    except Refused as error:
        raise WeightsError(str(error), path=path) from None
    return TorchCheckpoint(values, Tensors(tensors), scripted)


def _check_kind(file: MappedFile) -> None:
    head = file.read(0, 265)
    if head.startswith(b"PK\3\4"):
        return
    if head.startswith(_LEGACY):
        found = "PyTorch's format from before 1.6"
    elif head[257:262] == b"ustar":
        found = "a tar archive, PyTorch's first format"
    elif head.startswith(b"\x80"):
        found = "a bare pickle"
    else:
        found = f"{head[:4]!r}"
    raise WeightsError(
        f"expected a zip archive of torch.save, found {found}; if you trust the file, load "
        "it in PyTorch and save it again, or as safetensors",
        path=file.path,
    )


def _root(archive: StoredZip, file: MappedFile) -> str:
    roots = [name[: -len("/data.pkl")] for name in archive.names if name.endswith("/data.pkl")]
    roots = [root for root in roots if "/" not in root]
    if len(roots) != 1:
        raise WeightsError(
            f"expected one NAME/data.pkl in the archive, found {len(roots)}: not a checkpoint",
            path=file.path,
        )
    return roots[0]


class _Plain:
    """Turns the objects of a pickle into plain values, up to a limit.

    References let a short pickle describe an endless structure, so every visit counts.
    """

    def __init__(self) -> None:
        self._num_nodes = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        self._num_nodes += 1
        if self._num_nodes > _MAX_NODES or depth > _MAX_DEPTH:
            raise Refused(f"more than {_MAX_NODES:,} values, or nested more than {_MAX_DEPTH} deep")
        if isinstance(value, Instance):
            return {key: self.of(inner, depth + 1) for key, inner in value.attributes.items()}
        if type(value) is dict:
            return {key: self.of(inner, depth + 1) for key, inner in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.of(inner, depth + 1) for inner in value)
        if isinstance(value, NumpyArray):
            if value.array is None:
                raise Refused("a NumPy array without a state")
            array = value.array
            return LazyTensor(array.shape, array.dtype, lambda: array)
        if isinstance(value, ElementType):
            return value.name
        if isinstance(value, NumpyDtype):
            return value.text
        if isinstance(value, Storage | StorageKind | Global):
            raise Refused(f"a {type(value).__name__.lower()} outside a tensor")
        return value


def _walk(value: Any, name: str) -> Iterator[tuple[str, LazyTensor]]:
    if isinstance(value, LazyTensor):
        yield name, value
    elif isinstance(value, np.generic):
        array = np.asarray(value)
        yield name, LazyTensor((), array.dtype, lambda: array)
    elif isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _walk(inner, f"{name}.{key}" if name else str(key))
