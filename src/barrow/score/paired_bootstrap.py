"""The paired bootstrap: is a difference between two models more than chance?

Documents are drawn with replacement, as many as there are, and the difference is computed on the
draw, for all models on the same documents. Documents are the unit because bytes of one resemble
each other.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
SEED = 0
# Draws held at a time.
_DRAWS = 1 << 22
# Decimals of a difference in nats per byte; what is less comes from the order of additions.
_DECIMALS = 12

Array = npt.NDArray[np.float64]


class Spread(NamedTuple):
    """Bounds and p of the differences of models, [model, model, column], the first less the second.

    `low` and `high` are the bounds of 95 % of the resamples. `p` is the larger of two: twice the
    share of resamples on the other side of 0 (those at 0 count as there), and that of Student's t
    for the jackknife's standard error, as the bootstrap is overconfident where few documents hold
    most of the bytes. All are NaN where fewer than two documents have any size.
    """

    low: Array
    high: Array
    p: Array


def paired_bootstrap(
    nats: Array,
    sizes: npt.NDArray[np.int64],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Spread:
    """The spread of Σ nats / Σ size between models, of nats [documents, models, columns].

    All models and columns see the same draws.
    """
    if resamples < 1:
        raise ValueError(f"resamples must be ≥ 1, got {resamples}")
    num, models, columns = nats.shape
    low, high, p = (np.full((models, models, columns), np.nan) for _ in range(3))
    there = np.flatnonzero(np.count_nonzero(sizes, axis=0) > 1)
    rates = _resampled(nats[..., there], sizes[:, there], resamples, seed) if num else nats
    for k, column in enumerate(there.tolist()):
        drawn = rates[~np.isnan(rates[:, 0, k]), :, k]
        low[:, :, column] = high[:, :, column] = 0.0
        p[:, :, column] = 1.0
        for a, b in combinations(range(models), 2):
            values = np.round(drawn[:, a] - drawn[:, b], _DECIMALS)
            ends = np.quantile(values, (0.025, 0.975))
            low[a, b, column], high[a, b, column] = ends
            low[b, a, column], high[b, a, column] = -ends[::-1]
            fewer = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
            by_t = _by_jackknife(nats[:, a, column] - nats[:, b, column], sizes[:, column])
            p[a, b, column] = p[b, a, column] = max(by_t, min(1.0, 2 * int(fewer) / len(values)))
    return Spread(low, high, p)


def holm(p: Array) -> Array:
    """Holm's correction for several tests: what is ≤ α keeps the chance of any error ≤ α.

    NaN are no tests.
    """
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def _resampled(nats: Array, sizes: npt.NDArray[np.int64], resamples: int, seed: int) -> Array:
    """Σ nats / Σ size of every draw, [resamples, models, columns]; NaN for a draw of no size."""
    num, models, columns = nats.shape
    both = np.concatenate([nats.reshape(num, -1), sizes.astype(np.float64)], axis=1)
    rng = np.random.default_rng(seed)
    found = np.empty((resamples, models, columns))
    step = max(1, _DRAWS // num)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, num, (rows, num)) + np.arange(rows)[:, None] * num
        times = np.bincount(drawn.reshape(-1), minlength=rows * num).reshape(rows, num)
        totals = times.astype(np.float64) @ both
        weight = totals[:, None, models * columns :]
        some = totals[:, : models * columns].reshape(rows, models, columns)
        found[start : start + rows] = np.where(weight > 0, some / np.maximum(weight, 1), np.nan)
    return found


def _by_jackknife(differences: Array, sizes: npt.NDArray[np.int64]) -> float:
    """The two-sided p of Σ difference / Σ size, by the jackknife's standard error.

    The degrees of freedom are one less than the number of documents of one size that would weigh
    as much (Kish). Without any error it is 2^(1 − n), that of a sign test of n documents.
    """
    num, size = np.count_nonzero(sizes), float(sizes.sum())
    mean = round(math.fsum(differences.tolist()) / size, _DECIMALS)
    if not mean:
        return 1.0
    left_out = (differences - mean * sizes) / (size - sizes)
    error = math.sqrt((num - 1) / num * float(left_out @ left_out))
    if error < 10**-_DECIMALS:
        return float(2.0 ** (1 - num))
    freedom = size**2 / float(np.square(sizes, dtype=np.float64).sum()) - 1
    return student(mean / error, freedom)


def student(t: float, freedom: float) -> float:
    """The two-sided p of Student's t, by Wallace's approximation (1959).

    For p ≤ 0.2 it is never too small, and too large by 10 % at most for p ≥ 0.001 with five degrees
    of freedom or more.
    """
    z = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
    return math.erfc(z / math.sqrt(2))
