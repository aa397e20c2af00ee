"""Lineage: which documents a step saw, and which steps saw a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from barrow.stream.epochs import first_epoch
from barrow.stream.packed_rows import BucketedRows, PackedRows
from barrow.stream.stream import Stream

if TYPE_CHECKING:
    from barrow.tokens import TokenStore


@dataclass(frozen=True, order=True)
class Seen:
    """A part of a document in a row of a step.

    It stands in the columns from `column` on, and is the tokens `first` to `stop` of the
    `num_tokens` of the document (its begin and end ids are counted). `document` is the document's
    number in the store, `identity` its id in the archive ("" if it has none), `archive_number` its
    number there, in the file `shard`.
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


def seen_at(stream: Stream, step: int, *, row: int | None = None) -> list[Seen]:
    """What a step saw, by row and from left to right; of one row only, if one is given."""
    spans = stream.spans(step)
    if row is not None:
        if not 0 <= row < spans.num_rows:
            raise ValueError(f"step {step} has rows 0 to {spans.num_rows - 1}, not {row}")
        spans = spans.take(spans.row == row)
    places = zip(
        *(a.tolist() for a in (spans.row, spans.column, spans.document, spans.start, spans.length)),
        strict=True,
    )
    return [_seen(stream, step, *place) for place in places]


def steps_of(stream: Stream, document: int, *, until: int | None = None) -> list[Seen]:
    """The steps before `until` that saw a document, by its number in the store, in their order.

    Without `until`: all steps of a stream that ends, else those until all of the document's domain
    was read once.
    """
    store = _store(stream)
    entry = store.document(document)
    domain = store.domains.index(entry.domain)
    if until is None:
        until = stream.num_steps or first_epoch(stream.order, entry.domain) or _last_phase(stream)
    found = set()
    for step, row in _rows_of(stream, domain, document, entry.start, entry.stop, until):
        found |= {seen for seen in seen_at(stream, step, row=row) if seen.document == document}
    return sorted(found)


def _rows_of(
    stream: Stream, domain: int, document: int, start: int, stop: int, until: int
) -> Iterator[tuple[int, int]]:
    """Steps and rows that hold some of a document, tokens `start` to `stop` of its domain."""
    source = stream.batches.source
    if not isinstance(source, PackedRows | BucketedRows):
        stretches = [(start, stop)]
    elif (packing := source.packings.get(domain)) is None:
        return
    else:
        within = document - stream.store.domain_range(domain).start
        pieces = np.flatnonzero(packing.document == within)
        rows = np.unique(packing.offsets.searchsorted(pieces, side="right") - 1)
        stretches = [(row, row + 1) for row in rows.tolist()]
    for first, last in stretches:
        for sighting in stream.order.seen(domain, first, last, until_step=until):
            yield sighting.step, sighting.row


def _last_phase(stream: Stream) -> int:
    """The step from which on nothing changes: of a domain that is not read then, all is known."""
    return stream.settings.schedule.phases[-1].start


def _seen(
    stream: Stream, step: int, row: int, column: int, document: int, start: int, length: int
) -> Seen:
    entry = _store(stream).document(document)
    return Seen(
        step=step,
        row=row,
        column=column,
        domain=entry.domain,
        document=document,
        identity=entry.identity,
        shard=entry.source,
        archive_number=entry.archive_number,
        first=start - entry.start,
        stop=start - entry.start + length,
        num_tokens=entry.num_tokens,
    )


def _store(stream: Stream) -> TokenStore:
    return cast("TokenStore", stream.store)
