"""Whole documents to rows: which documents, or parts of long ones, share a row.

`best_fit` is best-fit decreasing: pieces from long to short, each into the row with the least room
that still holds it. A document longer than a row fills whole rows; only its rest is packed.
`one_by_one` gives every piece its own row.

Lengths are small integers, so all pieces of one length are placed at once. In a row with room r a
length ℓ goes r // ℓ times in succession, because after each the same row has the least room that
still holds ℓ; so rows with the same room are filled together, and the work is that of sorting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Packing:
    """Rows made of pieces: row r is the pieces from `offsets[r]` to `offsets[r + 1]`.

    A piece is `length` tokens from `start` on in the domain's token sequence, of the document that
    is number `document` within the domain; `last` is 1 if the document ends with it.
    """

    offsets: Integers
    start: Integers
    length: npt.NDArray[np.int32]
    document: Integers
    last: npt.NDArray[np.uint16]

    @property
    def num_rows(self) -> int:
        return len(self.offsets) - 1

    @property
    def num_tokens(self) -> int:
        return int(self.length.sum(dtype=np.int64))

    def waste(self, seq_len: int) -> float:
        """Share of places in rows of `seq_len` that hold no token."""
        places = self.num_rows * seq_len
        return 1 - self.num_tokens / places if places else 0.0


def one_by_one(starts: Integers, seq_len: int) -> Packing:
    """Each document in separate rows, cut where it is longer than a row."""
    pieces = _cut(starts, seq_len)
    return _packing(starts, pieces, np.arange(len(pieces.start) + 1))


def best_fit(starts: Integers, seq_len: int) -> Packing:
    """Whole documents in as few rows as best-fit decreasing finds.

    `starts` are the places where the domain's documents begin in its token sequence, and its end.
    """
    pieces = _cut(starts, seq_len)
    # Long to short; pieces of the same length stay in the order of the store.
    order = np.argsort(-pieces.length, kind="stable")
    row = _assign(pieces.length[order], seq_len)
    # Rows are numbered by their first piece in the store, and hold their pieces in that order.
    rows = np.empty(len(order), np.int64)
    rows[order] = row
    first = np.full(int(row.max()) + 1 if len(row) else 0, len(order), np.int64)
    np.minimum.at(first, rows, np.arange(len(order)))
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    rows = number[rows]
    by_row = np.argsort(rows, kind="stable")
    offsets = np.zeros(len(first) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(first)), out=offsets[1:])
    return _packing(starts, pieces.take(by_row), offsets)


@dataclass(frozen=True, eq=False)
class _Pieces:
    document: Integers
    start: Integers
    length: Integers

    def take(self, chosen: Integers) -> _Pieces:
        return _Pieces(self.document[chosen], self.start[chosen], self.length[chosen])


def _cut(starts: Integers, seq_len: int) -> _Pieces:
    """Documents in pieces of at most `seq_len`; those without tokens have none."""
    lengths = np.diff(starts)
    num = -(-lengths // seq_len)
    document = np.repeat(np.arange(len(lengths)), num)
    nth = np.arange(len(document)) - np.repeat(np.cumsum(num) - num, num)
    start = np.asarray(starts)[document] + nth * seq_len
    length = np.minimum(seq_len, np.asarray(starts)[document + 1] - start)
    return _Pieces(document, start, length)


def _packing(starts: Integers, pieces: _Pieces, offsets: Integers) -> Packing:
    last = pieces.start + pieces.length == np.asarray(starts)[pieces.document + 1]
    return Packing(
        offsets,
        pieces.start,
        pieces.length.astype(np.int32),
        pieces.document,
        last.astype(np.uint16),
    )


def _assign(lengths: Integers, seq_len: int) -> Integers:
    """The row of each piece, where pieces come from long to short."""
    row = np.empty(len(lengths), np.int64)
    rooms = _Rooms(seq_len)
    done = 0
    while done < len(lengths):
        length = int(lengths[done])
        stop = done + int(np.searchsorted(-lengths[done:], -length, side="right"))
        for rows, each in rooms.fill(length, stop - done):
            row[done : done + len(rows) * each] = np.repeat(rows, each)
            done += len(rows) * each
        assert done == stop
    return row


class _Rooms:
    """Rows by the room they have left; those that have had it longest are filled first."""

    def __init__(self, seq_len: int) -> None:
        self._seq_len = seq_len
        self._rows: list[list[Integers]] = [[] for _ in range(seq_len + 1)]
        self._any = np.zeros(seq_len + 1, np.bool_)
        self._num = 0

    def fill(self, length: int, num: int) -> Iterator[tuple[Integers, int]]:
        """Place `num` pieces of a length: rows, and how many pieces each of them takes."""
        for room in (np.flatnonzero(self._any[length:]) + length).tolist():
            if num == 0:
                return
            for rows, each in _shares(self._take(room), num, room // length):
                self._put(rows, room - each * length)
                num -= len(rows) * each
                yield rows, each
        each = self._seq_len // length
        fresh = self._num + np.arange(-(-num // each))
        self._num += len(fresh)
        for rows, many in _shares(fresh, num, each):
            self._put(rows, self._seq_len - many * length)
            yield rows, many

    def _take(self, room: int) -> Integers:
        rows = np.concatenate(self._rows[room])
        self._rows[room] = []
        self._any[room] = False
        return rows

    def _put(self, rows: Integers, room: int) -> None:
        if room and len(rows):
            self._rows[room].append(rows)
            self._any[room] = True


def _shares(rows: Integers, num: int, each: int) -> Iterator[tuple[Integers, int]]:
    """Deal `num` pieces out to rows, `each` to a row, the rest to the next, none to those after."""
    whole = min(len(rows), num // each)
    if whole:
        yield rows[:whole], each
    rest = num - whole * each if whole < len(rows) else 0
    if rest:
        yield rows[whole : whole + 1], rest
        whole += 1
    if whole < len(rows):
        yield rows[whole:], 0
