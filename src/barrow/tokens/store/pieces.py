"""Pieces: the units a token store is assembled from and identified by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

# Of the table of pieces in a file: two halves of the source, then the fields in their order.
NUM_FIELDS = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """Documents of one domain that were tokenized together, in the order of the archive.

    `source` are the first 32 hexadecimal digits of the SHA-256 of the archive's file, `part` is the
    number of the first document of the part of it that one task worked on, and `flush` counts how
    often that task had written out its buffer. With the domain, they name the piece: what is in it
    follows from them and the tokenizer. `text_bytes` are those of the texts, in UTF-8.
    """

    source: str
    part: int
    flush: int
    domain: str
    documents: int
    tokens: int
    text_bytes: int

    @property
    def key(self) -> str:
        """Its name: equal keys mean equal documents."""
        return f"{self.source}/{self.part}/{self.flush}/{self.domain}"


def to_table(pieces: Sequence[Piece]) -> tuple[list[str], npt.NDArray[np.uint64]]:
    """The names of their domains, and a row of numbers for each piece."""
    domains = list(dict.fromkeys(piece.domain for piece in pieces))
    place = {name: k for k, name in enumerate(domains)}
    rows = [
        (
            *(int(piece.source[:16], 16), int(piece.source[16:], 16)),
            *(piece.part, piece.flush, place[piece.domain]),
            *(piece.documents, piece.tokens, piece.text_bytes),
        )
        for piece in pieces
    ]
    return domains, np.array(rows, "<u8").reshape(-1, NUM_FIELDS)


def from_table(domains: Sequence[str], table: npt.NDArray[np.uint64]) -> list[Piece]:
    """What `to_table` was given. An IndexError is a domain that is not in the list."""
    return [
        Piece(f"{high:016x}{low:016x}", part, flush, domains[domain], *counts)
        for high, low, part, flush, domain, *counts in table.tolist()
    ]


Item = TypeVar("Item")


def plan_shards(
    items: Iterable[tuple[Piece, Item]], *, shard_bytes: int, itemsize: int
) -> Iterator[Sequence[tuple[Piece, Item]]]:
    """Cut pieces of one domain, in their order, into shards of about `shard_bytes` of ids.

    Data beside a piece stay with it.
    """
    shard: list[tuple[Piece, Item]] = []
    size = 0
    for piece, item in items:
        shard.append((piece, item))
        num_bytes = piece.tokens * itemsize
        size += num_bytes
        may_end = 2 * size >= shard_bytes and _may_end(piece, 2 * num_bytes, shard_bytes)
        if size >= shard_bytes or may_end:
            yield shard
            shard, size = [], 0
    if shard:
        yield shard


def _may_end(piece: Piece, times: int, of: int) -> bool:
    """True for `times` in `of` pieces."""
    drawn = int.from_bytes(hashlib.sha256(piece.key.encode()).digest()[:8], "little")
    return drawn * of < times << 64
