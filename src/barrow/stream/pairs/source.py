"""Rows of an order to numbers of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.stream.order import Rows
from barrow.stream.pairs.index import PairIndex


@dataclass(frozen=True)
class PairRows:
    """The source of pairs: a row is the number of a pair in the index, −1 for padding."""

    index: PairIndex
    context: int

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Ids of a text."""
        del seq_len, rows
        return self.context

    def samples(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Numbers of pairs."""
        firsts = np.array([part.start for part in self.index.ranges], np.int64)
        return np.where(rows.domain < 0, -1, firsts[rows.domain] + rows.start)
