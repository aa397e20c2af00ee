"""How far a domain has been read, and how it is read while the row length is constant.

Rows of a domain are counted over the whole run. Where the length of a row changes in the middle of
a group, each chunk of that group is left with its unread end. These ends are carried over: they are
read first, in turn, in pieces of the new length; then come the whole groups, then whole epochs. So
every token is read once in each epoch, whatever the lengths were.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.stream.order.cut import GROUP, Cut
from barrow.stream.order.round_robin import RoundRobin


class Piece(NamedTuple):
    """A row of a domain, and the part of its chunk that it reads."""

    row: int
    start: int
    stop: int


@dataclass(frozen=True)
class Carried:
    """Unread ends of the chunks of one group: their places, where they begin, and their turns."""

    epoch: int
    places: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    turns: RoundRobin


@dataclass(frozen=True)
class Reading:
    """A domain from its row `first_row` on, before which `tokens` tokens were read.

    What is carried over comes first, then `group` of `epoch` and all that follows.
    """

    cut: Cut
    first_row: int = 0
    tokens: int = 0
    carried: Carried | None = None
    epoch: int = 0
    group: int = 0

    @property
    def carried_rows(self) -> int:
        return self.carried.turns.num_rows if self.carried else 0

    @property
    def carried_tokens(self) -> int:
        return self.carried.turns.num_tokens if self.carried else 0

    @property
    def skipped_rows(self) -> int:
        """Rows from the beginning of `epoch` to the first whole group that is read."""
        return self.group * self.cut.group_rows

    @property
    def skipped_tokens(self) -> int:
        return self.group * GROUP * self.cut.chunk

    def tokens_before(self, row: int) -> int:
        """Tokens read in the run before a row."""
        number = row - self.first_row
        if number < self.carried_rows:
            assert self.carried
            return self.tokens + int(self.carried.turns.read(number).sum())
        number += self.skipped_rows - self.carried_rows
        epochs, within = divmod(number, max(1, self.cut.num_rows))
        read = epochs * self.cut.num_tokens + self.cut.tokens_before(within)
        return self.tokens + self.carried_tokens + read - self.skipped_tokens

    def rows_for(self, tokens: int) -> int:
        """The least number of rows of the run, `first_row` or more, that read so many tokens."""
        left = max(0, tokens - self.tokens)
        if left <= self.carried_tokens:
            rows = range(self.carried_rows)
            return self.first_row + bisect_left(
                rows, left, key=lambda row: self.tokens_before(self.first_row + row) - self.tokens
            )
        left += self.skipped_tokens - self.carried_tokens
        epochs, within = divmod(left, self.cut.num_tokens)
        rows_read = epochs * self.cut.num_rows + self.cut.rows_for(within) - self.skipped_rows
        return self.first_row + self.carried_rows + rows_read

    def find(self, epoch: int, place: int, offset: int) -> Piece | None:
        """The row that reads an offset of the chunk at a place; None if an earlier reading did."""
        cut = self.cut
        if self.carried and epoch == self.carried.epoch:
            span = int(np.searchsorted(self.carried.places, place))
            if span < len(self.carried.places) and self.carried.places[span] == place:
                begin = int(self.carried.starts[span])
                if offset < begin:
                    return None
                row = self.first_row + self.carried.turns.row(span, offset - begin)
                start = offset - (offset - begin) % cut.piece
                stop = begin + int(self.carried.turns.lengths[span])
                return Piece(row, start, min(start + cut.piece, stop))
        number = (epoch - self.epoch) * cut.num_rows + cut.row(place, offset) - self.skipped_rows
        if number < 0:
            return None
        start = offset - offset % cut.piece
        length = cut.chunk if place < cut.full else cut.rest
        row = self.first_row + self.carried_rows + number
        return Piece(row, start, min(start + cut.piece, length))

    def then(self, row: int, *, piece: int) -> Reading:
        """The reading that continues at a row with another length of rows."""
        cut = Cut(self.cut.num_tokens, self.cut.chunk, piece)
        tokens = self.tokens_before(row)
        number = row - self.first_row
        if number < self.carried_rows:
            assert self.carried
            old = self.carried
            starts, stops = old.starts + old.turns.read(number), old.starts + old.turns.lengths
            carried = _carried(old.epoch, old.places, starts, stops, piece)
            return Reading(cut, row, tokens, carried, self.epoch, self.group)
        number += self.skipped_rows - self.carried_rows
        epochs, within = divmod(number, max(1, self.cut.num_rows))
        epoch = self.epoch + epochs
        group, done = self.cut.group_of(within)
        if not done:
            return Reading(cut, row, tokens, None, epoch, group)
        lengths = self.cut.lengths(group)
        places = np.arange(len(lengths)) + group * GROUP
        carried = _carried(epoch, places, self.cut.read(group, done), lengths, piece)
        if group == self.cut.whole_groups:
            return Reading(cut, row, tokens, carried, epoch + 1, 0)
        return Reading(cut, row, tokens, carried, epoch, group + 1)


def _carried(
    epoch: int,
    places: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    piece: int,
) -> Carried:
    some = starts < stops
    turns = RoundRobin((stops - starts)[some], piece)
    return Carried(epoch, places[some], starts[some], turns)
