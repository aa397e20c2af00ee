"""Tasks: pieces to a shard of a store, and the shards of a domain to its index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.errors import StoreError
from barrow.tokens.array_file import Column, Written, write_arrays
from barrow.tokens.pieces import Piece
from barrow.tokens.token_file import TokenFile, write_token_file

VERSION = 1
SHARD = "shard.safetensors"
INDEX = "index.safetensors"
ENTRY = "entry.json"

_U64 = np.dtype("<u8")
_STEP = 1 << 22


def join(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Write a shard from `pieces`: rows of the tables of files, one after another.

    `sha256` are the checksums of files that may be old: damage must not get a new checksum.
    """
    for k, wanted in settings["sha256"].items():
        check_sha256(Path(files[int(k)]), wanted)
    dtype = np.dtype(settings["dtype"])
    opened = lru_cache(maxsize=64)(lambda k: TokenFile.open(Path(files[k]), dtype))
    places = settings["pieces"]
    pieces = [opened(k).pieces[row] for k, row in places]
    written = write_token_file(
        out / SHARD,
        pieces,
        offsets=_offsets(_rows("offsets", places, opened), pieces),
        identity=_rows("identity", places, opened),
        number=_rows("number", places, opened),
        ids=_rows("ids", places, opened),
        dtype=dtype,
    )
    _save(written, out)


def _rows(name: str, places: list[tuple[int, int]], opened: Any) -> Iterator[npt.NDArray[Any]]:
    """The rows of an array that belong to pieces; of offsets, those where documents end."""
    for k, row in places:
        file: TokenFile = opened(k)
        starts = file.token_starts if name == "ids" else file.document_starts
        later = name == "offsets"
        for rows in file.rows(name, starts[row] + later, starts[row + 1] + later):
            # Ends in this file become ends in the piece.
            yield rows - np.uint64(file.token_starts[row]) if later else rows


def _offsets(
    ends: Iterator[npt.NDArray[np.uint64]], pieces: list[Piece]
) -> Iterator[npt.NDArray[np.uint64]]:
    """Ends of documents within their pieces to offsets within the shard."""
    yield np.zeros(1, np.uint64)
    tokens = 0
    for piece in pieces:
        left = piece.documents
        while left:
            rows = next(ends)
            yield rows + np.uint64(tokens)
            left -= len(rows)
        tokens += piece.tokens


def index(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Write where documents of a domain begin, and the last ends, in the tokens of its shards."""
    shards = [TokenFile.open(Path(path), np.dtype(settings["dtype"])) for path in files]
    documents = sum(shard.document_starts[-1] for shard in shards)

    def starts() -> Iterator[npt.NDArray[np.uint64]]:
        yield np.zeros(1, np.uint64)
        tokens = 0
        for shard in shards:
            for rows in shard.rows("offsets", 1, shard.document_starts[-1] + 1):
                yield rows + np.uint64(tokens)
            tokens += shard.token_starts[-1]

    column = Column(_U64, (documents + 1,), starts())
    _save(write_arrays(out / INDEX, {"starts": column}, note={"domain": settings["domain"]}), out)


def _save(written: Written, out: Path) -> None:
    (out / ENTRY).write_bytes(msgspec.json.encode(written))


def load_written(result: Path) -> Written:
    """Size and checksum of what a task of these wrote."""
    return msgspec.json.decode((result / ENTRY).read_bytes(), type=Written)


def check_sha256(path: Path, wanted: str) -> None:
    """Raise unless a file has the bytes that were written."""
    hashed = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while data := file.read(_STEP):
            hashed.update(data)
    if hashed.hexdigest() != wanted:
        raise StoreError(
            f"expected SHA-256 {wanted}, found {hashed.hexdigest()}: bytes of the file were "
            "changed; make the store anew in another folder, or bring the file back",
            reason="wrong-checksum",
            file=path.name,
        )
