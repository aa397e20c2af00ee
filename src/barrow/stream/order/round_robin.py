"""Several spans read in turn, a piece of each at a time, until all are read.

Round p takes piece p of every span that has one, in the order of the spans; a span's last piece may
be short. A new level begins with each round at which some span has just run out, so within a level
the same spans take part and a row is found by one division.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


class _Levels(NamedTuple):
    """For each level: its rounds, its first row, and the spans that take part."""

    begins: Numbers
    ends: Numbers
    first: Numbers
    widths: Numbers
    spans: list[Numbers]


class RoundRobin:
    """The pieces of spans of given lengths (each above 0), in turn."""

    def __init__(self, lengths: Numbers, piece: int) -> None:
        self.lengths = lengths
        self.piece = piece
        self.num_tokens = int(lengths.sum())
        self._pieces = -(-lengths // piece)
        self.num_rows = int(self._pieces.sum())

    @cached_property
    def _levels(self) -> _Levels:
        # Made on first use: what was carried into a phase long past is never used.
        ends = np.unique(self._pieces)
        begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
        spans = [np.flatnonzero(self._pieces >= end) for end in ends]
        widths = np.array([len(some) for some in spans], np.int64)
        rows = (ends - begins) * widths
        return _Levels(begins, ends, np.cumsum(rows) - rows, widths, spans)

    def locate(self, row: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Span, offset in it and length of each row's piece."""
        levels = self._levels
        level = np.searchsorted(levels.first, row, side="right") - 1
        turn, place = np.divmod(row - levels.first[level], levels.widths[level])
        starts = np.cumsum(levels.widths) - levels.widths
        span = np.concatenate(levels.spans)[starts[level] + place]
        offset = (levels.begins[level] + turn) * self.piece
        return span, offset, np.minimum(self.piece, self.lengths[span] - offset)

    def row(self, span: int, offset: int) -> int:
        """The row whose piece holds an offset of a span."""
        levels = self._levels
        turn = offset // self.piece
        level = int(np.searchsorted(levels.ends, turn, side="right"))
        place = int(np.searchsorted(levels.spans[level], span))
        begun = (turn - int(levels.begins[level])) * int(levels.widths[level])
        return int(levels.first[level]) + begun + place

    def read(self, rows: int) -> Numbers:
        """How much of each span the first rows have read."""
        if rows >= self.num_rows:
            return self.lengths.copy()
        levels = self._levels
        level = int(np.searchsorted(levels.first, rows, side="right")) - 1
        turn, place = divmod(rows - int(levels.first[level]), int(levels.widths[level]))
        pieces = np.minimum(self._pieces, int(levels.begins[level]) + turn)
        pieces[levels.spans[level][:place]] += 1
        return np.asarray(np.minimum(pieces * self.piece, self.lengths))
