"""One epoch of a domain: its tokens cut in chunks, chunks in groups, groups in rows.

A domain's N tokens are cut in chunks of C; the last may be short. In an epoch the full chunks come
in a shuffled order, the short one last; a chunk's number in that order is its *place*. Each 256
places in a row are a group, and a group is read round-robin in pieces of L tokens: piece 0 of every
chunk, then piece 1 of every chunk. So rows near each other come from different chunks, and a chunk
is finished before long. With L = C a row is a chunk.

All is closed arithmetic on whole numbers: rows and tokens are counted from the epoch's beginning.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

GROUP = 256


@dataclass(frozen=True)
class Cut:
    """A domain of `num_tokens`, cut in chunks of `chunk` that are read in pieces of `piece`."""

    num_tokens: int
    chunk: int
    piece: int

    @cached_property
    def full(self) -> int:
        """Number of full chunks."""
        return self.num_tokens // self.chunk

    @cached_property
    def rest(self) -> int:
        """Tokens of the short chunk; 0 if there is none."""
        return self.num_tokens % self.chunk

    @cached_property
    def pieces(self) -> int:
        """Rows of a full chunk."""
        return -(-self.chunk // self.piece)

    @cached_property
    def rest_pieces(self) -> int:
        """Rows of the short chunk."""
        return -(-self.rest // self.piece)

    @cached_property
    def group_rows(self) -> int:
        """Rows of a group of 256 full chunks."""
        return GROUP * self.pieces

    @cached_property
    def whole_groups(self) -> int:
        """Groups of 256 full chunks; what is left is the last group, which may be empty."""
        return self.full // GROUP

    @cached_property
    def num_rows(self) -> int:
        """Rows of an epoch."""
        return self.full * self.pieces + self.rest_pieces

    def group_of(self, row: int) -> tuple[int, int]:
        """The group that a row of the epoch is in, and its row within the group."""
        group = min(row // self.group_rows, self.whole_groups)
        return group, row - group * self.group_rows

    def lengths(self, group: int) -> npt.NDArray[np.int64]:
        """Tokens of each chunk of a group."""
        if group < self.whole_groups:
            return np.full(GROUP, self.chunk, np.int64)
        lengths = [self.chunk] * (self.full % GROUP) + [self.rest] * bool(self.rest)
        return np.array(lengths, np.int64)

    def row(self, place: int, offset: int) -> int:
        """The row that reads an offset of the chunk at a place."""
        group, slot = divmod(place, GROUP)
        turn = offset // self.piece
        if group < self.whole_groups:
            return group * self.group_rows + turn * GROUP + slot
        shorts = min(turn, self.rest_pieces)
        return group * self.group_rows + turn * (self.full % GROUP) + shorts + slot

    def tokens_before(self, row: int) -> int:
        """Tokens that the rows of the epoch before this one read."""
        group, within = self.group_of(row)
        return group * GROUP * self.chunk + self._group_tokens(group, within)

    def rows_for(self, tokens: int) -> int:
        """The least number of rows of the epoch that read at least so many tokens."""
        group = min(tokens // (GROUP * self.chunk), self.whole_groups)
        left = tokens - group * GROUP * self.chunk
        most = self.group_rows if group < self.whole_groups else self.num_rows
        within = bisect_left(range(most), left, key=lambda row: self._group_tokens(group, row))
        return group * self.group_rows + within

    def read(self, group: int, row: int) -> npt.NDArray[np.int64]:
        """How much of each chunk of a group was read before a row of the group."""
        turn, slot = self._turn(group, row)
        turns = np.full(len(self.lengths(group)), turn, np.int64)
        turns[:slot] += 1
        return np.asarray(np.minimum(turns * self.piece, self.lengths(group)))

    def _group_tokens(self, group: int, row: int) -> int:
        turn, slot = self._turn(group, row)
        last = group == self.whole_groups
        done = min(turn * self.piece, self.chunk)
        next_done = min((turn + 1) * self.piece, self.chunk)
        short = min(turn * self.piece, self.rest) if last else 0
        return (self.full % GROUP if last else GROUP) * done + slot * (next_done - done) + short

    def _turn(self, group: int, row: int) -> tuple[int, int]:
        """The round of a row of a group, and the row's number in it."""
        if group < self.whole_groups:
            return divmod(row, GROUP)
        width, shorts = self.full % GROUP, self.rest_pieces
        if row < shorts * (width + 1):
            return divmod(row, width + 1)
        turn, slot = divmod(row - shorts * (width + 1), max(1, width))
        return shorts + turn, slot
