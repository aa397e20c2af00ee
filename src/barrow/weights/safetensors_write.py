"""Write safetensors: one file, or shards with an index in Hugging Face's layout."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from barrow.files import WrittenFile, write_bytes
from barrow.files.dtypes import name_of, rank_of
from barrow.files.safetensors import METADATA, Column, write_arrays
from barrow.weights.safetensors_read import INDEX_SUFFIX, SINGLE
from barrow.weights.tensors import Array, LazyTensor, Tensors, lazy

DEFAULT_SHARD_BYTES = 5_000_000_000


@dataclass(frozen=True)
class Written:
    """Files that were written: of tensors, and their index if there are several."""

    files: tuple[WrittenFile, ...]
    index: WrittenFile | None = None


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    *,
    metadata: Mapping[str, str] | None = None,
    max_shard_bytes: int = DEFAULT_SHARD_BYTES,
    beside: Mapping[str, str] | None = None,
) -> Written:
    """Write arrays to a ``.safetensors`` file, which is replaced, or into a folder.

    In a folder they are ``model.safetensors``, or from `max_shard_bytes` on shards
    ``model-00001-of-0000N.safetensors`` filled in the order given, and the index last; a folder
    that already holds a model is refused. Each tensor is read when it is written, then released.
    The same contents give the same bytes. With `beside`, the SHA-256 of other files in the folder
    by name, the header holds them and that of each tensor, and `open_safetensors` compares them.
    """
    path = Path(path)
    entries = lazy(tensors)
    _check(entries, metadata or {})
    if path.suffix == ".safetensors":
        return Written((_write_file(path, entries, list(entries), metadata or {}, beside),))
    if max_shard_bytes < 1:
        raise ValueError(f"max_shard_bytes must be ≥ 1, got {max_shard_bytes}")
    refuse_model(path)
    shards = _split(entries, max_shard_bytes)
    if len(shards) == 1:
        return Written((_write_file(path / SINGLE, entries, shards[0], metadata or {}, beside),))
    files: list[WrittenFile] = []
    shard_of: dict[str, str] = {}
    for number, names in enumerate(shards, start=1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        files.append(_write_file(path / name, entries, names, metadata or {}, beside))
        shard_of |= dict.fromkeys(names, name)
    index = {
        "metadata": {**(metadata or {}), "total_size": entries.num_bytes},
        "weight_map": dict(sorted(shard_of.items())),
    }
    text = json.dumps(index, indent=2, ensure_ascii=False) + "\n"
    return Written(tuple(files), write_bytes(path / f"{SINGLE}.index.json", text.encode()))


def _check(entries: Tensors, metadata: Mapping[str, str]) -> None:
    for name in entries:
        if not isinstance(name, str) or name == METADATA:
            raise ValueError(f"{name!r} cannot be the name of a tensor")
        name_of(entries.entry(name).dtype)
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(f"metadata must map strings to strings, got {key!r}: {value!r}")


def refuse_model(folder: Path) -> None:
    """Raise if a folder already has a model."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} must be a folder or end in .safetensors")
    for entry in sorted(folder.iterdir()):
        if entry.name == SINGLE or entry.name.endswith(INDEX_SUFFIX):
            raise ValueError(
                f"{folder} already contains a model ({entry.name}); choose another path"
            )


def _split(entries: Tensors, max_shard_bytes: int) -> list[list[str]]:
    shards: list[list[str]] = [[]]
    size = 0
    for name in entries:
        num_bytes = entries.entry(name).num_bytes
        if shards[-1] and size + num_bytes > max_shard_bytes:
            shards.append([])
            size = 0
        shards[-1].append(name)
        size += num_bytes
    return shards


def _write_file(
    path: Path,
    entries: Tensors,
    names: list[str],
    metadata: Mapping[str, str],
    beside: Mapping[str, str] | None,
) -> WrittenFile:
    # Wide types first, so that every tensor begins at a multiple of its element's size.
    order = sorted(names, key=lambda name: (-rank_of(name_of(entries.entry(name).dtype)), name))
    columns = {}
    for name in order:
        entry = entries.entry(name)
        columns[name] = Column(entry.dtype, entry.shape, _read(name, entry))
    return write_arrays(path, columns, metadata=dict(sorted(metadata.items())), beside=beside)


def _read(name: str, entry: LazyTensor) -> Iterator[Array]:
    array = np.asarray(entry.read())
    if array.shape != entry.shape or array.dtype != entry.dtype:
        raise ValueError(
            f"tensor {name!r} was announced as {entry.dtype} {entry.shape} but is "
            f"{array.dtype} {array.shape}"
        )
    yield array
