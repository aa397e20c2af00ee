"""Rows as pieces of documents that were packed beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.stream.order.order import Rows
from barrow.stream.rows.packing import Packing
from barrow.stream.rows.spans import Spans, equal_runs, joined, ranges
from barrow.stream.store import Store

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PackedRows:
    """The source of packed rows, all as wide as the schedule says; by number of the domain."""

    store: Store
    packings: Mapping[int, Packing]

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Places of a row."""
        del rows
        return seq_len

    def samples(self, rows: Rows) -> Spans:
        """The pieces in rows."""
        return packed_spans(self.store, self.packings, rows.domain, rows.start)


@dataclass(frozen=True)
class BucketedRows:
    """The source of rows of one document each, as wide as the batch needs.

    The width is the smallest of `buckets` (ascending) that holds the longest row of the global
    batch, so it is the same for every rank.
    """

    store: Store
    packings: Mapping[int, Packing]
    buckets: tuple[int, ...]

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Places of a row."""
        del seq_len
        whole = rows()
        longest = int(packed_lengths(self.packings, whole.domain, whole.start).max(initial=1))
        return next(bucket for bucket in self.buckets if bucket >= longest)

    def samples(self, rows: Rows) -> Spans:
        """The pieces in rows."""
        return packed_spans(self.store, self.packings, rows.domain, rows.start)


def default_buckets(seq_len: int) -> tuple[int, ...]:
    """Powers of two below `seq_len`, and itself."""
    return (*(1 << k for k in range((seq_len - 1).bit_length())), seq_len)


def packed_spans(
    store: Store, packings: Mapping[int, Packing], domain: Integers, row: Integers
) -> Spans:
    """The pieces in rows, given by their number in the domain's packing.

    Rows of padding have domain −1 and are left out.
    """
    order = np.argsort(domain, kind="stable")
    order = order[np.searchsorted(domain[order], 0) :]
    parts = []
    for number, rows in equal_runs(domain[order]):
        packing, places = packings[number], order[rows]
        first = packing.offsets[row[places]]
        piece, which = ranges(first, packing.offsets[row[places] + 1] - first)
        length = packing.length[piece].astype(np.int64)
        before = np.cumsum(length) - length
        parts.append(
            Spans(
                len(domain),
                row=places[which],
                column=before - before[np.searchsorted(which, which)],
                domain=np.full(len(piece), number, np.int64),
                start=packing.start[piece],
                length=length,
                document=store.domain_range(number).start + packing.document[piece],
                last=packing.last[piece] != 0,
            )
        )
    return joined(parts, num_rows=len(domain))


def packed_lengths(packings: Mapping[int, Packing], domain: Integers, row: Integers) -> Integers:
    """Tokens in rows of one piece each, given by their number in the domain's packing."""
    lengths = np.zeros(len(row), np.int64)
    for number in np.unique(domain[domain >= 0]).tolist():
        packing, places = packings[number], domain == number
        lengths[places] = packing.length[packing.offsets[row[places]]]
    return lengths
