"""Candidates for near-duplicates: documents that share a band hash."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled

Numbers = npt.NDArray[np.int64]
Pairs = npt.NDArray[np.int64]

# In a larger bucket not all pairs are compared: the cost would be quadratic.
_ALL_PAIRS = 16


def candidate_pairs(
    bands: npt.NDArray[np.uint64], ranks: npt.NDArray[np.uint64], numbers: Numbers
) -> Pairs:
    """Pairs of documents with the same hash in one band, as an array of [pairs, 2].

    `ranks` order the documents of a bucket, whatever the order of the arguments. In a bucket of
    more than 16, each is paired only with the first and with the next: that connects copies of one
    text, and there are 13 other bands. A band hash of 0 means no hash.
    """
    order = np.lexsort((numbers, ranks, bands))
    order = order[bands[order] != 0]
    sorted_bands = bands[order]
    starts = np.flatnonzero(np.r_[True, sorted_bands[1:] != sorted_bands[:-1]])
    starts = starts[: len(starts) if len(order) else 0]
    ends = np.r_[starts[1:], len(order)].astype(np.int64)
    sizes = ends - starts
    num_pairs = np.where(sizes <= _ALL_PAIRS, sizes * (sizes - 1) // 2, 2 * sizes - 3)
    pairs = np.empty((int(num_pairs.sum()), 2), np.int64)
    _write_pairs(numbers[order], starts, ends, pairs)
    pairs.sort(axis=1)
    return pairs


@compiled
def _write_pairs(numbers: Numbers, starts: Numbers, ends: Numbers, pairs: Pairs) -> None:
    k = 0
    for bucket in range(len(starts)):
        start, end = starts[bucket], ends[bucket]
        for first in range(start, end):
            if end - start <= _ALL_PAIRS or first == start:
                for second in range(first + 1, end):
                    pairs[k, 0], pairs[k, 1] = numbers[first], numbers[second]
                    k += 1
            elif first + 1 < end:
                pairs[k, 0], pairs[k, 1] = numbers[first], numbers[first + 1]
                k += 1
