"""Runs of tokens: the contents of rows, before any token is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spans:
    """Parts of documents in rows, by row and from left to right.

    Span i is `length[i]` > 0 tokens from `start[i]` on in the token sequence of `domain[i]`, at
    `column[i]` of row `row[i]`. They are tokens of `document[i]` (a number in the store), and its
    last ones where `last[i]`.
    """

    num_rows: int
    row: Integers
    column: Integers
    domain: Integers
    start: Integers
    length: Integers
    document: Integers
    last: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, rows: slice) -> Spans:
        """The spans of some rows, renumbered from 0."""
        first, stop, step = rows.indices(self.num_rows)
        assert step == 1, "rows are cut in steps of 1"
        stop = max(first, stop)
        part = slice(*self.row.searchsorted((first, stop)))
        arrays = [getattr(self, name)[part] for name in _ARRAYS]
        return Spans(stop - first, arrays[0] - first, *arrays[1:])

    def take(self, chosen: Integers | npt.NDArray[np.bool_]) -> Spans:
        """Some of them, in the order given."""
        return Spans(self.num_rows, *[getattr(self, name)[chosen] for name in _ARRAYS])

    @cached_property
    def segment(self) -> Integers:
        """The place of each in its row, from 1."""
        return np.arange(1, len(self) + 1) - self.row.searchsorted(self.row)

    def documents(self) -> Integers:
        """[rows, most spans of a row]: the document of each segment, −1 where there is none."""
        table = np.full((self.num_rows, self.segment.max(initial=0)), -1, np.int64)
        table[self.row, self.segment - 1] = self.document
        return table


_ARRAYS = tuple(field.name for field in fields(Spans)[1:])


def joined(parts: Sequence[Spans], *, num_rows: int) -> Spans:
    """Spans of different rows as one, by row."""
    if not parts:
        none = np.zeros(0, np.int64)
        return Spans(num_rows, none, none, none, none, none, none, none > 0)
    arrays = [np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS]
    whole = Spans(num_rows, *arrays)
    return whole.take(np.argsort(whole.row, kind="stable"))


def equal_runs(values: Integers) -> Iterator[tuple[int, slice]]:
    """Each value of a sorted array, and where it is."""
    edges = np.flatnonzero(values[1:] != values[:-1]) + 1
    bounds = [0, *edges.tolist(), len(values)] if len(values) else [0]
    for start, stop in itertools.pairwise(bounds):
        yield int(values[start]), slice(start, stop)


def ranges(first: Integers, count: Integers) -> tuple[Integers, Integers]:
    """The numbers from `first[i]` on, `count[i]` of them, for all i in turn; and their i."""
    which = np.repeat(np.arange(len(first)), count)
    offset = first - (np.cumsum(count) - count)
    return np.arange(len(which)) + offset[which], which
