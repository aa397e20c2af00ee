"""Pieces: what a token store is put together from, and told apart by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
