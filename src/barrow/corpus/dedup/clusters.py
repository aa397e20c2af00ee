"""Which near-duplicates stay: of each cluster, those not near to one already kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.dedup.candidates import Numbers, Pairs
from barrow.corpus.kernels.jit import compiled


class Clusters(NamedTuple):
    """Of document i: `cluster` is the same for all that verified pairs connect; `of` is the kept
    document that i is a near-duplicate of, −1 if i is kept; `similarity` is that of the two.
    """

    cluster: Numbers
    of: Numbers
    similarity: npt.NDArray[np.float64]


def choose(
    num_documents: int, pairs: Pairs, similarity: npt.NDArray[np.float64], rank: Numbers
) -> Clusters:
    """Go through the documents by `rank` (lowest first), and keep those near to none kept yet.

    So every removed document has a measured similarity to one that is kept: the far end of a chain
    of small changes is not removed. `pairs` are the verified ones.
    """
    cluster = np.arange(num_documents, dtype=np.int64)
    _connect(pairs, cluster)
    neighbours = np.r_[pairs, pairs[:, ::-1]]
    weights = np.r_[similarity, similarity]
    order = np.lexsort((rank[neighbours[:, 1]], neighbours[:, 0]))
    neighbours, weights = neighbours[order], weights[order]
    starts = np.searchsorted(neighbours[:, 0], np.arange(num_documents + 1)).astype(np.int64)
    of = np.full(num_documents, -1, np.int64)
    value = np.zeros(num_documents, np.float64)
    _keep_by_rank(
        np.argsort(rank, kind="stable"), starts, neighbours[:, 1].copy(), weights, rank, of, value
    )
    return Clusters(cluster, of, value)


@compiled
def _root(cluster: Numbers, at: int) -> int:
    while cluster[at] != at:
        cluster[at] = cluster[cluster[at]]
        at = cluster[at]
    return at


@compiled
def _connect(pairs: Pairs, cluster: Numbers) -> None:
    for k in range(len(pairs)):
        one, other = _root(cluster, pairs[k, 0]), _root(cluster, pairs[k, 1])
        cluster[max(one, other)] = min(one, other)
    for at in range(len(cluster)):
        cluster[at] = _root(cluster, at)


@compiled
def _keep_by_rank(
    order: Numbers,
    starts: Numbers,
    neighbours: Numbers,
    weights: npt.NDArray[np.float64],
    rank: Numbers,
    of: Numbers,
    value: npt.NDArray[np.float64],
) -> None:
    for at in order:
        for k in range(starts[at], starts[at + 1]):
            other = neighbours[k]
            if rank[other] < rank[at] and of[other] < 0 and weights[k] > value[at]:
                of[at], value[at] = other, weights[k]
