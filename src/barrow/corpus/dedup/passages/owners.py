"""Which of equal windows is the owner: the place where a passage stays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.dedup.passages.windows import Places
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import Hashes


class Groups(NamedTuple):
    """`owners` are the numbers of windows, one of each group of equals, by the first half of their
    hashes; ``group[k]`` is the index in it of the owner of window k.
    """

    owners: Places
    group: Places


def group_windows(first: Hashes, second: Hashes, rank: Places, start: Places) -> Groups:
    """Group the windows that share both halves of their hashes.

    Their owner is that of the lowest `rank`, and of those the one that starts first.
    """
    owners = np.empty(len(first), np.int64)
    group = np.full(len(first), -1, np.int64)
    number = _group(first, second, rank, start, np.argsort(first), owners, group)
    return Groups(owners[:number].copy(), group)


@compiled
def _group(
    first: Hashes,
    second: Hashes,
    rank: Places,
    start: Places,
    order: Places,
    owners: Places,
    group: Places,
) -> int:
    number = 0
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and first[order[end]] == first[order[begin]]:
            end += 1
        left = end - begin
        while left > 0:  # more than once only if unequal windows share half a hash
            best = -1
            for k in range(begin, end):
                at = order[k]
                if group[at] < 0 and (
                    best < 0
                    or rank[at] < rank[best]
                    or (rank[at] == rank[best] and start[at] < start[best])
                ):
                    best = at
            for k in range(begin, end):
                if group[order[k]] < 0 and second[order[k]] == second[best]:
                    group[order[k]] = number
                    left -= 1
            owners[number] = best
            number += 1
        begin = end
    return number


def repeated(values: Hashes) -> npt.NDArray[np.bool_]:
    """Which values occur more than once."""
    order = np.argsort(values)
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    flags = np.zeros(len(values), np.bool_)
    flags[order[1:][same]] = True
    flags[order[:-1][same]] = True
    return flags
