"""``index.json`` of a checkpoint: what it holds, where, and the checksums of its files."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from barrow.checkpoint.leaves import Kind
from barrow.config import to_dict
from barrow.errors import CheckpointError
from barrow.files import checked_name, resolved
from barrow.files.dtypes import is_known

INDEX = "index.json"
FORMAT = "barrow checkpoint"
VERSION = 1


_PLACES = ("run", "stream", "tokenizer")


@dataclass(frozen=True)
class Piece:
    """A block of a leaf: the file and tensor that hold it, where it starts, and its shape."""

    file: str
    tensor: str
    start: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Leaf:
    """A leaf's kind, and blocks that together are all of it and do not overlap."""

    kind: Kind
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class StoredFile:
    """Length and SHA-256 of a file."""

    num_bytes: int
    sha256: str


@dataclass(frozen=True)
class Index:
    """A whole checkpoint; `step` is None where it is of no run, `about` is the caller's.

    In the file, paths in these parts of `about` are relative to the checkpoint: the settings of the
    run, its stream, and where its tokenizer is.
    """

    step: int | None
    about: Mapping[str, Any]
    leaves: Mapping[str, Leaf]
    files: Mapping[str, StoredFile]

    @property
    def num_bytes(self) -> int:
        """Bytes of all files but the index."""
        return sum(file.num_bytes for file in self.files.values())


def index_bytes(index: Index) -> bytes:
    """The file's contents. Its last key is the SHA-256 of the rest, so a changed byte shows."""
    table = {
        "format": FORMAT,
        "version": VERSION,
        "step": index.step,
        "about": index.about,
        "files": {
            name: {"bytes": file.num_bytes, "sha256": file.sha256}
            for name, file in index.files.items()
        },
        "leaves": {path: leaf_table(leaf) for path, leaf in index.leaves.items()},
    }
    whole = {**table, "sha256": _digest(table)}
    return ("{\n" + ",\n".join(_lines(whole)) + "\n}\n").encode()


def change_places(about: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """`about` with what holds paths changed; the contents of a tokenizer hold none."""
    return {
        key: change(value)
        if key in _PLACES and not (key == "tokenizer" and isinstance(value, Mapping))
        else value
        for key, value in about.items()
    }


def as_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """What an index can hold, as reading it back will give it; ValueError if JSON cannot."""
    table: dict[str, Any] = json.loads(json.dumps(to_dict(about), allow_nan=False))
    return table


def leaf_table(leaf: Leaf) -> dict[str, Any]:
    """A leaf as JSON."""
    kind = leaf.kind
    key = {} if kind.key is None else {"key": kind.key, "key_dtype": kind.key_dtype}
    return {
        "dtype": kind.dtype,
        "shape": list(kind.shape),
        **key,
        "pieces": [piece_table(piece) for piece in leaf.pieces],
    }


def piece_table(piece: Piece) -> dict[str, Any]:
    """A piece as JSON."""
    return {
        "file": piece.file,
        "tensor": piece.tensor,
        "start": list(piece.start),
        "shape": list(piece.shape),
    }


def read_index(folder: Path) -> Index:
    """The index of a checkpoint's folder, checked for being one and unchanged."""
    try:
        data = (folder / INDEX).read_bytes()
    except FileNotFoundError:
        raise CheckpointError(
            f"expected a checkpoint, found no {INDEX}; was copying interrupted?",
            reason="none",
            folder=folder,
        ) from None
    return parse_index(data, folder)


def parse_index(data: bytes, folder: Path) -> Index:
    """An index from the bytes of its file."""

    def damaged(cause: str) -> CheckpointError:
        return CheckpointError(f"{INDEX}: {cause}", reason="damaged", folder=folder)

    try:
        table: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(f"is not JSON: {error}") from None
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise CheckpointError(
            f"{INDEX} is not of a checkpoint (no format {FORMAT!r})", reason="none", folder=folder
        )
    if type(table.get("version")) is not int or table["version"] > VERSION:
        raise CheckpointError(
            f"is of version {table.get('version')!r}, but this barrow reads up to "
            f"{VERSION}: upgrade barrow",
            reason="version",
            folder=folder,
        )
    digest = table.pop("sha256", None)
    if digest != _digest(table):
        raise damaged("its checksum differs: it was changed after it was written")
    try:
        index = _index(table)
        about = change_places(index.about, partial(resolved, folder=folder))
        index = replace(index, about=about)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise damaged(f"is malformed: {error!r}") from None
    for path, leaf in index.leaves.items():
        if not is_covered(leaf):
            raise damaged(f"the pieces of {path} do not cover it")
    return index


def parse_piece(table: Mapping[str, Any]) -> Piece:
    """A piece from JSON."""
    return Piece(
        str(table["file"]), str(table["tensor"]), _dims(table["start"]), _dims(table["shape"])
    )


def is_covered(leaf: Leaf) -> bool:
    """Whether pieces are inside the leaf and have as many elements."""
    shape = leaf.kind.shape
    inside = all(
        len(piece.start) == len(piece.shape) == len(shape)
        and all(a + n <= size for a, n, size in zip(piece.start, piece.shape, shape, strict=True))
        for piece in leaf.pieces
    )
    return inside and sum(math.prod(piece.shape) for piece in leaf.pieces) == math.prod(shape)


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    """A line for a key, and inside the long tables a line for each of theirs."""

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    for name, value in table.items():
        if name in ("files", "leaves") and value:
            inside = ",\n".join(f"  {text(key)}: {text(inner)}" for key, inner in value.items())
            yield f" {text(name)}: {{\n{inside}\n }}"
        else:
            yield f" {text(name)}: {text(value)}"


def _index(table: Mapping[str, Any]) -> Index:
    files = {
        name: StoredFile(int(file["bytes"]), str(file["sha256"]))
        for name, file in table["files"].items()
    }
    for name in files:
        checked_name(name)
    leaves = {path: _leaf(leaf) for path, leaf in table["leaves"].items()}
    for leaf in leaves.values():
        for piece in leaf.pieces:
            if piece.file not in files:
                raise ValueError(f"{piece.file!r} is not among the files")
    step = table["step"]
    if step is not None and (type(step) is not int or step < 0):
        raise ValueError(f"step {step!r}")
    return Index(step, dict(table["about"]), leaves, files)


def _leaf(table: Mapping[str, Any]) -> Leaf:
    if not is_known(table["dtype"]):
        raise ValueError(f"type {table['dtype']!r}")
    kind = Kind(table["dtype"], _dims(table["shape"]), table.get("key"), table.get("key_dtype"))
    return Leaf(kind, tuple(parse_piece(piece) for piece in table["pieces"]))


def _dims(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(v) is int and v >= 0 for v in values):
        raise ValueError(f"dimensions {values!r}")
    return tuple(values)


def _digest(table: Mapping[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
