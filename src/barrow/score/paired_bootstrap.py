"""The paired bootstrap: is a difference between two models more than chance?

Documents are drawn with replacement, as many as there are, and the difference is computed on the
draw, for both models on the same documents. Documents are the unit because bytes of one resemble
each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
SEED = 0
# Draws held at a time.
_DRAWS = 1 << 22


class Spread(NamedTuple):
    """Of a difference: the bounds of 95 % of its resamples, and how often it changes sign.

    `p` is twice the share of resamples on the other side of 0 (those at 0 count as there), the
    difference itself counted as one more; at most 1. With few documents resamples are
    overconfident: a sign test of n pairs cannot give less than 2^(1 − n), so `p` is at least that.
    """

    low: float
    high: float
    p: float


def paired_bootstrap(
    differences: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Spread | None]:
    """The spread of Σ difference / Σ size for each column; rows are documents.

    All columns see the same draws. None where fewer than two documents have any size.
    """
    if resamples < 1:
        raise ValueError(f"resamples must be ≥ 1, got {resamples}")
    num, columns = differences.shape
    if not num:
        return [None] * columns
    both = np.concatenate([differences, sizes.astype(np.float64)], axis=1)
    rng = np.random.default_rng(seed)
    found = np.empty((resamples, columns))
    step = max(1, _DRAWS // num)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, num, (rows, num)) + np.arange(rows)[:, None] * num
        times = np.bincount(drawn.reshape(-1), minlength=rows * num).reshape(rows, num)
        totals = times.astype(np.float64) @ both
        weight = totals[:, columns:]
        found[start : start + rows] = np.where(
            weight > 0, totals[:, :columns] / np.maximum(weight, 1), np.nan
        )
    pairs = np.count_nonzero(sizes, axis=0).tolist()
    return [_spread(found[:, k], pairs[k]) if pairs[k] > 1 else None for k in range(columns)]


def _spread(values: npt.NDArray[np.float64], num_pairs: int) -> Spread:
    values = values[~np.isnan(values)]
    low, high = np.quantile(values, (0.025, 0.975))
    fewer = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
    p = min(1.0, 2 * (int(fewer) + 1) / (len(values) + 1))
    return Spread(float(low), float(high), max(p, 2.0 ** (1 - num_pairs)))
