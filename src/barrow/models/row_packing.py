"""Several short texts in a row: where each goes, so that little of the rows is padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """For each text its row, its number in the row, and its first place there."""

    row: Numbers
    slot: Numbers
    start: Numbers

    @property
    def num_rows(self) -> int:
        """Rows that have texts."""
        return int(self.row.max(initial=-1)) + 1


def packing(lengths: Sequence[int] | Numbers, capacity: int, most: int) -> Packing:
    """Texts of these lengths in rows of `capacity` places, at most `most` of them in a row.

    A row has the longest text that is left, then the longest that still fits, and so on; rows of
    the same lengths are made all at once.
    """
    given = np.asarray(lengths, np.int64)
    if given.size and not 1 <= given.min() <= given.max() <= capacity:
        raise ValueError(
            f"lengths must be from 1 to {capacity}, got {given.min()} to {given.max()}"
        )
    order = np.argsort(given, kind="stable")
    left = np.bincount(given, minlength=capacity + 1)
    taken = np.cumsum(left) - left  # of `order`, where the texts of each length begin
    row, slot, start = (np.zeros(len(given), np.int64) for _ in range(3))
    num_rows = 0
    while len(pattern := _pattern(left, capacity, most)):
        counts = np.bincount(pattern, minlength=capacity + 1)
        there = counts > 0
        times = int((left[there] // counts[there]).min())
        rows = num_rows + np.arange(times)
        at = 0
        for number, length in enumerate(pattern):
            texts = order[taken[length] : taken[length] + times]
            row[texts], slot[texts], start[texts] = rows, number, at
            taken[length] += times
            left[length] -= times
            at += length
        num_rows += times
    return Packing(row, slot, start)


def _pattern(left: Numbers, capacity: int, most: int) -> list[int]:
    """Lengths of a row's texts: each the longest that is left and fits."""
    have = np.flatnonzero(left)
    counts = left.copy()
    found: list[int] = []
    while len(found) < most:
        fits = np.searchsorted(have, capacity, side="right") - 1
        if fits < 0 or have[fits] == 0:
            break
        length = int(have[fits])
        found.append(length)
        capacity -= length
        counts[length] -= 1
        have = have if counts[length] else np.delete(have, fits)
    return found
