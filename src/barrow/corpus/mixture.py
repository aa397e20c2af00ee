"""How much of each domain a corpus takes, and the split of each document.

Every document has two positions in the unit interval, hashed from the seed and its id (or its
cluster's name): one decides its split, the other whether it is drawn once more for a fraction of an
epoch. So the result for a document depends only on itself, the seed and the thresholds, which are
set so that the shares are right by bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError

SPLITS = ("train", "validation", "test")
_BINS = 1 << 16
_ONE = float(1 << 64)

Places = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Splits:
    """Shares of the corpus for validation and test, by bytes; clusters stay together.

    - `validation`, `test`: share of the corpus, by bytes
    """

    validation: float = 0.0
    test: float = 0.0

    def __post_init__(self) -> None:
        if min(self.validation, self.test) < 0 or self.validation + self.test >= 1:
            raise ConfigError(
                "validation and test must be shares ≥ 0 that add up to less than 1, "
                f"got {self.validation} and {self.test}"
            )


@dataclass(frozen=True)
class Mixture:
    """How often documents are taken.

    - `by`: all of them once ("once"), or by the domains' `epochs` or `weight` ("epochs", "weight")
    - `size`: with weights, bytes of text of the corpus; null: as many as there are
    - `max_epochs`: with weights, a domain that would be repeated more often ends the build
    - `tolerance`: with weights, the relative error of a domain's share that ends the build
    """

    by: Literal["once", "epochs", "weight"] = "once"
    size: int | None = None
    max_epochs: float = 4.0
    tolerance: float = 0.05


def places(identity: npt.NDArray[np.uint64], seed: int, purpose: int) -> Places:
    """Uniform numbers, one for each document, seed and purpose."""
    offset = (seed * 0x9E3779B97F4A7C15 + purpose * 0xD1B54A32D192ED03) % (1 << 64)
    value = identity ^ np.uint64(offset)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = (value ^ (value >> np.uint64(shift))) * np.uint64(factor)
    return value ^ (value >> np.uint64(31))


class Histogram:
    """Bytes of documents by position, to find the threshold of a share."""

    def __init__(self) -> None:
        self.bytes = np.zeros(_BINS, np.float64)

    def add(self, where: Places, sizes: npt.NDArray[np.int64]) -> None:
        """Count some documents."""
        self.bytes += np.bincount((where >> np.uint64(48)).astype(np.int64), sizes, _BINS)

    @property
    def total(self) -> float:
        return float(self.bytes.sum())

    def below(self, threshold: float) -> float:
        """The bytes of documents below a threshold of this histogram."""
        return float(self.bytes[: round(threshold * _BINS)].sum())

    def threshold(self, share: float) -> float:
        """Documents below this place, from 0 to 1, have about this share of the bytes."""
        if share <= 0 or not self.total:
            return 0.0
        if share >= 1:
            return 1.0
        upto = np.r_[0.0, np.cumsum(self.bytes)] / self.total
        return int(np.abs(upto - share).argmin()) / _BINS


def below(where: Places, threshold: float) -> npt.NDArray[np.bool_]:
    """Which places are below a threshold from 0 to 1."""
    if threshold >= 1:
        return np.ones(len(where), np.bool_)
    return where < np.uint64(int(threshold * _ONE))


def check_shares(
    weights: Mapping[str, float], sizes: Mapping[str, float], tolerance: float
) -> None:
    """Raise `ConfigError` if the bytes taken of domains miss their weights by too much."""
    total, total_weight = sum(sizes.values()), sum(weights[name] for name in sizes)
    off = []
    for name, size in sizes.items():
        asked, given = weights[name] / total_weight, size / total if total else 0.0
        if abs(given - asked) > tolerance * asked:
            off.append(f"{name} has {given:.2%} for {asked:.2%}")
    if off:
        raise ConfigError(
            f"the mixture misses its weights by more than {tolerance:.0%}, as documents are few or "
            f"large: {', '.join(off)}; pass a larger mixture.size or mixture.tolerance"
        )


def epochs_by_weight(
    weights: Mapping[str, float], sizes: Mapping[str, float], mixture: Mixture
) -> dict[str, float]:
    """How often each domain is taken to match the weights.

    Raises `ConfigError` if a domain is too small for that.
    """
    unknown = [name for name in sizes if not weights.get(name)]
    if unknown:
        raise ConfigError(f"the mixture is by weight, but {unknown[0]} has no weight")
    empty = [name for name in weights if name in sizes and not sizes[name]]
    if empty:
        raise ConfigError(f"{empty[0]} has a weight, but no text of it is left")
    total_weight = sum(weights[name] for name in sizes)
    shares = {name: weights[name] / total_weight for name in sizes}
    size = sum(sizes.values()) if mixture.size is None else mixture.size
    epochs = {name: shares[name] * size / sizes[name] for name in sizes}
    worst = max(epochs, key=lambda name: epochs[name])
    if epochs[worst] > mixture.max_epochs:
        most = int(min(mixture.max_epochs * sizes[name] / shares[name] for name in sizes))
        raise ConfigError(
            f"the weights cannot be met: {worst} would be repeated {epochs[worst]:.1f} times, but "
            f"max_epochs is {mixture.max_epochs:g}; pass mixture.size={most} or less"
        )
    return epochs
