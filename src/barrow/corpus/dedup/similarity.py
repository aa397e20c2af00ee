"""The true similarity of two documents: the Jaccard index of their sets of shingles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.dedup.candidates import Numbers
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, Words

_IN_FIRST, _IN_SECOND = 1, 2


def similarities(shingles: Words, first: Numbers, second: Numbers) -> npt.NDArray[np.float64]:
    """Of document ``first[k]`` and document ``second[k]``: |A ∩ B| / |A ∪ B|.

    Shingles may repeat: sets are made while counting, in a table of hashes, so nothing is sorted.
    """
    values = np.empty(len(first), np.float64)
    sizes = np.diff(shingles.offsets)
    largest = int((sizes[first] + sizes[second]).max(initial=0))
    slots = np.zeros(1 << max(4, int(2 * largest).bit_length()), np.uint64)
    owners = np.zeros(len(slots), np.uint8)
    _jaccard(shingles.hashes, shingles.offsets, first, second, slots, owners, values)
    return values


@compiled
def _place_of(
    value: np.uint64, slots: Hashes, owners: npt.NDArray[np.uint8], mask: np.uint64
) -> np.uint64:
    """The slot of a value in the table, or the free one for it."""
    place = value & mask  # shingles are hashes: their bits need no more mixing
    while owners[place] != 0 and slots[place] != value:
        place = (place + np.uint64(1)) & mask
    return place


@compiled
def _jaccard(
    hashes: Hashes,
    offsets: Offsets,
    first: Numbers,
    second: Numbers,
    slots: Hashes,
    owners: npt.NDArray[np.uint8],
    values: npt.NDArray[np.float64],
) -> None:
    for k in range(len(first)):
        a, a_end = np.uint64(offsets[first[k]]), np.uint64(offsets[first[k] + 1])
        b, b_end = np.uint64(offsets[second[k]]), np.uint64(offsets[second[k] + 1])
        size = np.uint64(16)
        while size < np.uint64(2) * ((a_end - a) + (b_end - b)):
            size *= np.uint64(2)
        mask = size - np.uint64(1)
        owners[:size] = 0
        union = common = 0
        for at in range(a, a_end):
            place = _place_of(hashes[at], slots, owners, mask)
            if owners[place] == 0:
                slots[place], owners[place] = hashes[at], _IN_FIRST
                union += 1
        for at in range(b, b_end):
            place = _place_of(hashes[at], slots, owners, mask)
            if owners[place] == 0:
                slots[place], owners[place] = hashes[at], _IN_SECOND
                union += 1
            elif owners[place] == _IN_FIRST:
                owners[place] = _IN_FIRST | _IN_SECOND
                common += 1
        values[k] = common / union if union else 0.0
