"""Rows as stretches of a domain's token sequence: documents are concatenated, then cut.

A row that begins inside a document begins with segment 1 and position 0 there: what came before is
in another row, and no model sees across rows, so positions never reach beyond the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from barrow.stream.order.order import Rows
from barrow.stream.rows.spans import Spans, equal_runs, ranges
from barrow.stream.store import Store

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CutRows:
    """The source of rows that are stretches of a domain: as wide as the schedule says."""

    store: Store

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Places of a row."""
        del rows
        return seq_len

    def samples(self, rows: Rows) -> Spans:
        """The parts of documents in rows."""
        order = np.argsort(rows.domain, kind="stable")
        order = order[np.searchsorted(rows.domain[order], 0) :]  # padding has domain −1
        domain, left = rows.domain[order], rows.start[order]
        right = left + rows.length[order]
        groups = list(equal_runs(domain))
        first, stop = np.empty_like(left), np.empty_like(left)
        for number, part in groups:
            # Held by the store alone, which maps only so many files at a time.
            starts = self.store.domain_starts(number)
            first[part] = starts.searchsorted(left[part], side="right")
            stop[part] = starts.searchsorted(right[part], side="left")
        first -= 1
        document, row = ranges(first, stop - first)
        edges = [*row.searchsorted([part.start for _, part in groups]).tolist(), len(row)]
        begin, end = np.empty_like(document), np.empty_like(document)
        for (number, _), (a, b) in zip(groups, pairwise(edges), strict=True):
            starts = self.store.domain_starts(number)
            within = document[a:b]
            begin[a:b] = starts[within]
            end[a:b] = starts[within + 1]
            within += self.store.domain_range(number).start
        left = left[row]
        begin = np.maximum(begin, left)
        length = np.minimum(end, right[row]) - begin
        spans = Spans(
            len(rows),
            row=order[row],
            column=begin - left,
            domain=domain[row],
            start=begin,
            length=length,
            document=document,
            last=begin + length == end,
        )
        if len(groups) > 1:
            spans = spans.take(np.argsort(spans.row, kind="stable"))
        # Documents without tokens are in no row.
        return spans if (spans.length > 0).all() else spans.take(spans.length > 0)
