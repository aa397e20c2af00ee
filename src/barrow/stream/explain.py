"""Lineage: a part of a document in a row of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barrow.tokens.store.store import DocumentEntry


@dataclass(frozen=True, order=True)
class Seen:
    """A part of a document in a row of a step.

    It is in the columns from `column` on, and is the tokens `first` to `stop` of the `num_tokens`
    of the document (its begin and end ids are counted). `document` is the document's number in the
    store, `identity` its id in the archive ("" if it has none), `archive_number` its number there,
    in the file `shard`.
    """

    step: int
    row: int
    column: int
    domain: str
    document: int
    identity: str
    shard: str
    archive_number: int
    first: int
    stop: int
    num_tokens: int

    @classmethod
    def of(
        cls, entry: DocumentEntry, step: int, row: int, column: int, start: int, length: int
    ) -> Seen:
        """Some tokens of a document, from `start` on in the sequence of its domain."""
        return cls(
            step=step,
            row=row,
            column=column,
            domain=entry.domain,
            document=entry.number,
            identity=entry.identity,
            shard=entry.source,
            archive_number=entry.archive_number,
            first=start - entry.start,
            stop=start - entry.start + length,
            num_tokens=entry.num_tokens,
        )

    @property
    def number(self) -> int:
        """Of the document."""
        return self.document

    def __str__(self) -> str:
        name = self.identity or f"{self.shard} {self.archive_number}"
        tokens = f"tokens {self.first:,}–{self.stop:,} of {self.num_tokens:,}"
        return f"row {self.row}: {self.domain}, {name}, {tokens}"
