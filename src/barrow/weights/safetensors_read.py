"""Open safetensors, one file or sharded with an index, as lazy memory-mapped arrays."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import NotFound, UnsafeName, WeightsError
from barrow.files import inside, listed, sha256_of
from barrow.files.dtypes import dtype_of
from barrow.files.safetensors import Header, Sums, read_header
from barrow.weights.mapped_file import MappedFile
from barrow.weights.tensors import Array, LazyTensor, Tensors

SINGLE = "model.safetensors"
INDEX_SUFFIX = ".safetensors.index.json"
_MAX_INDEX = 1 << 28


def open_safetensors(path: str | os.PathLike[str]) -> Tensors:
    """The arrays of a file, an index, or a folder that holds one of these.

    Opening reads and checks the headers; elements stay on the disk until they are touched, and
    arrays are read-only views of the mapped file. `metadata` is that of the file, or of the index
    where there are shards. Where the header has checksums, a tensor is compared with its own when
    it is first read; other files that changed are named in a warning.
    """
    path = Path(path)
    if not path.exists():
        raise NotFound(f"{path} does not exist")
    if path.is_dir():
        path = _in_folder(path)
    if path.name.endswith(INDEX_SUFFIX):
        return _open_sharded(path)
    header = read_header(path)
    _warn_of_changes(path.parent, header.sums)
    return Tensors(_entries(path, header), metadata=header.metadata)


def _in_folder(folder: Path) -> Path:
    names = listed(folder)
    indices = [name for name in names if name.endswith(INDEX_SUFFIX)]
    files = [name for name in names if name.endswith(".safetensors")]
    if SINGLE + ".index.json" in indices:
        return folder / f"{SINGLE}.index.json"
    if SINGLE in files and not indices:
        return folder / SINGLE
    found = indices or files
    if len(found) == 1:
        if indices or "-of-" not in found[0]:
            return folder / found[0]
    elif not found:
        raise NotFound(f"{folder} has no .safetensors file")
    if not indices and all("-of-" in name for name in files):
        raise WeightsError(
            f"{len(files)} shards but no {SINGLE}.index.json: was writing or copying interrupted?",
            path=folder,
        )
    raise WeightsError(f"expected one model, found {', '.join(found)}: pass the file", path=folder)


def _entries(path: Path, header: Header) -> dict[str, LazyTensor]:
    file = MappedFile(path)
    found = {
        name: file.lazy(dtype_of(span.dtype), span.shape, span.start)
        for name, span in header.spans.items()
    }
    sums = header.sums.tensors
    return {
        name: _compared(entry, sums[name], path, name) if name in sums else entry
        for name, entry in found.items()
    }


def _compared(entry: LazyTensor, digest: str, path: Path, name: str) -> LazyTensor:
    """A tensor whose bytes are compared with their SHA-256 when they are first read."""
    unread = [digest]

    def read() -> Array:
        array = entry.read()
        if unread:
            if sha256(array.reshape(-1).view(np.uint8).data).hexdigest() != digest:
                raise WeightsError(
                    "the checksum differs; the file was changed after it was written: copy it "
                    "again",
                    path=path,
                    tensor=name,
                )
            unread.clear()
        return array

    return replace(entry, read=read)


def damage_of(path: Path) -> tuple[Header, list[WeightsError]]:
    """The header of a file, and what its checksums show: tensors, and other files that changed."""
    header = read_header(path)
    problems = []
    for entry in _entries(path, header).values() if header.sums.tensors else ():
        try:
            entry.read()
        except WeightsError as error:
            problems.append(error)
    cause = "was changed or removed after the model was written"
    changed = changed_files(path.parent, header.sums)
    return header, [*problems, *(WeightsError(cause, path=path.parent / one) for one in changed)]


def changed_files(folder: Path, sums: Sums) -> list[str]:
    """Files of a folder that are not as they were when the tensors beside them were written."""

    def is_same(name: str, digest: str) -> bool:
        file = inside(folder, name, links_to=_blobs(folder))
        return file.is_file() and sha256_of(file) == digest

    return [name for name, digest in sums.files.items() if not is_same(name, digest)]


def _warn_of_changes(folder: Path, sums: Sums) -> None:
    if changed := changed_files(folder, sums):
        warnings.warn(
            f"{folder}: {', '.join(changed)} changed after the model was written, and is used as "
            "it is",
            stacklevel=3,
        )


def _open_sharded(index: Path) -> Tensors:
    shard_of, metadata = read_index(index)
    entries: dict[str, LazyTensor] = {}
    home: dict[str, str] = {}
    for shard in sorted(set(shard_of.values())):
        path = index.parent / shard
        if not path.exists():
            raise WeightsError(f"missing shard {shard}, which {index.name} names", path=path)
        header = read_header(path)
        for name in header.spans:
            if name in home:
                raise WeightsError(f"is in {home[name]} too", path=path, tensor=name)
            if name not in shard_of:
                raise WeightsError(f"is not in {index.name}", path=path, tensor=name)
            home[name] = shard
        entries |= _entries(path, header)
    for name, shard in shard_of.items():
        if home.get(name) != shard:
            where = f"; it is in {home[name]}" if name in home else ""
            raise WeightsError(
                f"is not in {shard}, where the index expects it{where}", path=index, tensor=name
            )
    _warn_of_changes(index.parent, header.sums)
    return Tensors({name: entries[name] for name in shard_of}, metadata=metadata)


def _blobs(folder: Path) -> Path | None:
    """Where the links of a folder of the hub's cache lead: models--X/snapshots/REVISION."""
    return folder.parent.parent / "blobs" if folder.parent.name == "snapshots" else None


def read_index(path: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The shard of each tensor, and the index's metadata as strings."""
    size = path.stat().st_size
    if size > _MAX_INDEX:
        raise WeightsError(f"an index of {size:,} bytes; at most {_MAX_INDEX:,}", path=path)
    try:
        table: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"the index is not JSON: {error}", path=path) from None
    shard_of = table.get("weight_map") if isinstance(table, dict) else None
    if not isinstance(shard_of, dict) or not shard_of:
        raise WeightsError("the index has no table weight_map of tensor → shard", path=path)
    for name, shard in shard_of.items():
        try:
            inside(path.parent, shard, links_to=_blobs(path.parent))
        except UnsafeName as error:
            raise WeightsError(str(error), path=path, tensor=name) from None
    metadata = table.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return shard_of, {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in metadata.items()
    }
