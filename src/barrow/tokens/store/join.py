"""The stage that joins pieces to a shard of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.engine import File, Output, Outputs, Stage
from barrow.errors import StoreError
from barrow.files import sha256_of, write_part
from barrow.tokens.store.array_file import Written
from barrow.tokens.store.pieces import Piece
from barrow.tokens.store.token_file import TokenFile, write_token_file


@dataclass(frozen=True)
class Settings:
    """Of every piece, its row in the table of its file, and the checksum of a file that may be
    old: damage must not get a new checksum.

    What is in a piece follows from its name, the tokenizer, and the ids that begin and end a
    document.
    """

    dtype: str
    tokenizer: str
    begin: int | None
    end: int | None
    rows: tuple[int, ...]
    sha256: tuple[str | None, ...]


class Joined(Outputs):
    """A token file, and its size and checksum."""

    tokens = Output("shard.safetensors")
    entry = Output("entry.json")


def join(settings: Settings, files: tuple[File, ...], out: Joined) -> None:
    """Write a shard from pieces; `files` has the token file of each, named by the piece."""
    paths = [file.path for file in files]
    for path, wanted in dict(zip(paths, settings.sha256, strict=True)).items():
        if wanted is not None:
            check_sha256(path, wanted)
    dtype = np.dtype(settings.dtype)
    opened = lru_cache(maxsize=64)(lambda path: TokenFile.open(path, dtype))
    places = list(zip(paths, settings.rows, strict=True))
    pieces = [opened(path).pieces[row] for path, row in places]
    written = write_token_file(
        out.tokens.path,
        pieces,
        offsets=_offsets(_rows("offsets", places, opened), pieces),
        identity=_rows("identity", places, opened),
        number=_rows("number", places, opened),
        ids=_rows("ids", places, opened),
        dtype=dtype,
    )
    save_written(written, out.entry)


JOIN = Stage("tokens.join", 1, join, Joined)


def _rows(name: str, places: list[tuple[Path, int]], opened: Any) -> Iterator[npt.NDArray[Any]]:
    """The rows of an array that belong to pieces; of offsets, those where documents end."""
    for path, row in places:
        file: TokenFile = opened(path)
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


def save_written(written: Written, entry: File) -> None:
    """Save size and checksum of what a task wrote."""
    write_part(entry.path, msgspec.json.encode(written))


def load_written(entry: File) -> Written:
    """What `save_written` was given."""
    return msgspec.json.decode(entry.path.read_bytes(), type=Written)


def check_sha256(path: Path, wanted: str) -> None:
    """Raise unless a file has the bytes that were written."""
    found = sha256_of(path)
    if found != wanted:
        raise StoreError(
            f"expected SHA-256 {wanted}, found {found}: the file was changed; restore it, "
            "or make the store again in another folder",
            reason="wrong-checksum",
            file=path.name,
        )
