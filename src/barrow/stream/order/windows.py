"""Which tokens the rows of domains are: many rows of many domains at once.

This is the arithmetic of `cut` and `reading`, elementwise over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.stream.order.cut import GROUP
from barrow.stream.order.reading import Reading
from barrow.stream.order.shuffle import Shuffle

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Spans:
    """For each row: the epoch it is read in, its first token in the domain's own sequence of
    tokens, and the number of tokens.
    """

    epoch: Numbers
    start: Numbers
    length: Numbers


class Windows:
    """All domains, while the length of a row stays the same."""

    def __init__(self, readings: Sequence[Reading], shuffle: Shuffle) -> None:
        self.readings = tuple(readings)
        self._shuffle = shuffle
        cut = self.readings[0].cut
        self.chunk, self._piece, self._pieces = cut.chunk, cut.piece, cut.pieces
        self._first = _numbers([r.first_row + r.carried_rows for r in readings])
        self._skipped = _numbers([r.skipped_rows for r in readings])
        self._epoch = _numbers([r.epoch for r in readings])
        self._full = _numbers([r.cut.full for r in readings])
        self._rest = _numbers([r.cut.rest for r in readings])
        self._rest_pieces = _numbers([r.cut.rest_pieces for r in readings])
        self._num_rows = np.maximum(1, _numbers([r.cut.num_rows for r in readings]))

    def spans(self, domain: Numbers, row: Numbers) -> Spans:
        """What rows of domains read; rows are counted over the run and belong to this stretch."""
        number = row - self._first[domain]
        epoch, place, offset = self._whole(domain, number)
        full, rest = self._full[domain], self._rest[domain]
        length = np.minimum(self._piece, np.where(place < full, self.chunk, rest) - offset)
        early = np.flatnonzero(number < 0)
        for d in np.unique(domain[early]):
            which = early[domain[early] == d]
            carried = self.readings[d].carried
            assert carried is not None
            span, within, length[which] = carried.turns.locate(
                row[which] - self.readings[d].first_row
            )
            epoch[which], place[which] = carried.epoch, carried.places[span]
            offset[which] = carried.starts[span] + within
        chunk = self._shuffle.chunks(domain, epoch, place)
        return Spans(epoch, chunk * self.chunk + offset, length)

    def _whole(self, domain: Numbers, number: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Epoch, place and offset in the chunk of rows counted after what is carried over."""
        number = number + self._skipped[domain]
        epochs, within = np.divmod(number, self._num_rows[domain])
        full = self._full[domain]
        if self._pieces == 1:
            place, turn = within, np.zeros_like(within)
        else:
            groups = full // GROUP
            group = np.minimum(within // (GROUP * self._pieces), groups)
            within -= group * (GROUP * self._pieces)
            # In its first rounds, the last group's width has the short chunk besides.
            last = group == groups
            width = np.where(last, full % GROUP, GROUP)
            shorts = np.where(last, self._rest_pieces[domain], 0)
            both = shorts * (width + 1)
            after = within >= both
            turn, slot = np.divmod(
                within - after * both, np.maximum(1, width + np.where(after, 0, 1))
            )
            turn += after * shorts
            place = group * GROUP + slot
        return self._epoch[domain] + epochs, place, turn * self._piece

    def then(self, rows: Sequence[int], *, piece: int) -> Windows:
        """The windows that follow, with another length, after so many rows of each domain."""
        if piece == self._piece:
            return self
        pairs = zip(self.readings, rows, strict=True)
        return Windows([r.then(row, piece=piece) for r, row in pairs], self._shuffle)


def _numbers(values: Sequence[int]) -> Numbers:
    return np.array(values, np.int64)
