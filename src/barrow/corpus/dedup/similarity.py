"""The true similarity of two documents: the Jaccard index of their sets of shingles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.compiled import compiled
from barrow.corpus.dedup.candidates import Numbers
from barrow.corpus.word_hashes import Hashes, Words


def shingle_sets(shingles: Words) -> Words:
    """The shingles of every document, sorted, each once."""
    sets = [
        np.unique(shingles.hashes[start:stop])
        for start, stop in zip(shingles.offsets[:-1], shingles.offsets[1:], strict=True)
    ]
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return Words(np.concatenate([np.empty(0, np.uint64), *sets]), offsets)


def similarities(sets: Words, first: Numbers, second: Numbers) -> npt.NDArray[np.float64]:
    """Of document ``first[k]`` and document ``second[k]`` of some sets: |A ∩ B| / |A ∪ B|."""
    values = np.empty(len(first), np.float64)
    _jaccard(sets.hashes, sets.offsets, first, second, values)
    return values


@compiled
def _jaccard(
    hashes: Hashes,
    offsets: Numbers,
    first: Numbers,
    second: Numbers,
    values: npt.NDArray[np.float64],
) -> None:
    for k in range(len(first)):
        a, a_end = offsets[first[k]], offsets[first[k] + 1]
        b, b_end = offsets[second[k]], offsets[second[k] + 1]
        union = (a_end - a) + (b_end - b)
        common = 0
        while a < a_end and b < b_end:
            if hashes[a] == hashes[b]:
                common += 1
                a += 1
                b += 1
            elif hashes[a] < hashes[b]:
                a += 1
            else:
                b += 1
        values[k] = common / (union - common) if union > common else 0.0
