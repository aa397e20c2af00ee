"""Where pieces are: in the output of tasks, or in a store that is updated."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from barrow.tokens.store.encode import Encoded
from barrow.tokens.store.pieces import Piece
from barrow.tokens.store.store import TokenStore
from barrow.tokens.store.store_file import FileEntry
from barrow.tokens.store.token_file import TokenFile


@dataclass(frozen=True, slots=True)
class At:
    """A row of the table of a file; `sha256` is that of a store's own file."""

    file: Path
    row: int
    sha256: str | None = None


Located = tuple[Piece, At]


@dataclass(frozen=True, slots=True)
class KnownPieces:
    """What a store holds already: its pieces by source, and its shards by `contents`.

    It has all pieces of a source, or none.
    """

    by_source: Mapping[str, list[Located]] = field(default_factory=dict)
    shards: Mapping[str, FileEntry] = field(default_factory=dict)


def contents(pieces: Iterable[Piece]) -> str:
    """A hash of a sequence of pieces."""
    return hashlib.sha256("\n".join(piece.key for piece in pieces).encode()).hexdigest()


def pieces_of_store(store: TokenStore) -> KnownPieces:
    """The pieces of a store; those of a source in the order of its documents."""
    found: dict[str, dict[str, Located]] = defaultdict(dict)
    shards = {}
    for domain in store.manifest.domains:
        for shard in domain.shards:
            path = store.folder / shard.file.name
            pieces = TokenFile.open(path, store.dtype).pieces
            shards[contents(pieces)] = shard.file
            for row, piece in enumerate(pieces):
                found[piece.source][piece.key] = piece, At(path, row, shard.file.sha256)
    by_source = {
        source: sorted(them.values(), key=lambda one: (one[0].part, one[0].flush))
        for source, them in found.items()
    }
    return KnownPieces(by_source, shards)


def pieces_of_task(result: Encoded, dtype: np.dtype[Any]) -> list[Located]:
    """The pieces of one part of a source, in the order of its documents."""
    return [
        (piece, At(path, row))
        for path in result.parts()
        for row, piece in enumerate(TokenFile.open(path, dtype).pieces)
    ]
