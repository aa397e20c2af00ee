"""Metrics of predictions, in NumPy: functions of counts, or of two lists of numbers.

Counts add up over batches, so a figure is that of all rows, however they were divided. Where
scikit-learn or SciPy defines a figure, these give the same number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


def confusion(truth: npt.ArrayLike, predicted: npt.ArrayLike, num: int) -> Counts:
    """Counts [true class, predicted class] of classes 0 to `num` − 1."""
    rows, columns = (np.asarray(x, np.int64).reshape(-1) for x in (truth, predicted))
    if len(rows) != len(columns):
        raise ValueError(f"{len(rows)} true classes and {len(columns)} predicted ones")
    for found in (rows, columns):
        if found.size and not 0 <= found.min() <= found.max() < num:
            raise ValueError(
                f"classes must be from 0 to {num - 1}, got {found.min()} to {found.max()}"
            )
    return np.bincount(rows * num + columns, minlength=num * num).reshape(num, num)


def accuracy(counts: Counts) -> float:
    """The share of rows whose class was predicted; 0 if there are none."""
    return _ratio(float(np.trace(counts)), float(counts.sum()))


def f1(counts: Counts, positive: int = 1) -> float:
    """2·both / (predicted + true) for one class; 0 where it was neither."""
    both = float(counts[positive, positive])
    return _ratio(2 * both, float(counts[positive].sum() + counts[:, positive].sum()))


def macro_f1(counts: Counts) -> float:
    """The mean of `f1` over the classes that were predicted or true at least once."""
    seen = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1))
    return float(np.mean([f1(counts, int(one)) for one in seen])) if len(seen) else 0.0


def matthews(counts: Counts) -> float:
    """The correlation of true and predicted classes, for any number of them (Gorodkin's R_K).

    0 where either is constant.
    """
    table = counts.astype(np.float64)
    true, said, num = table.sum(axis=1), table.sum(axis=0), table.sum()
    together = np.trace(table) * num - true @ said
    apart = (num**2 - said @ said) * (num**2 - true @ true)
    return _ratio(float(together), float(np.sqrt(apart)))


def pearson(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The linear correlation of two lists of numbers; NaN where either is constant."""
    a, b = _pair(first, second)
    if (a == a[0]).all() or (b == b[0]).all():
        return float("nan")
    return float(np.clip(_direction(a) @ _direction(b), -1.0, 1.0))


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The linear correlation of `ranks`; NaN where either list is constant."""
    a, b = _pair(first, second)
    return pearson(ranks(a), ranks(b))


def ranks(values: npt.ArrayLike) -> Numbers:
    """Ranks in ascending order, from 1; equal numbers share their mean rank."""
    array = np.asarray(values, np.float64).reshape(-1)
    _, which, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Numbers = (last - (counts - 1) / 2)[which]
    return shared


def mean_squared_error(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The mean of squared differences."""
    a, b = _pair(truth, predicted)
    return float(np.mean((a - b) ** 2))


def _pair(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Numbers, Numbers]:
    a, b = (np.asarray(x, np.float64).reshape(-1) for x in (first, second))
    if len(a) != len(b) or len(a) < 2:
        raise ValueError(
            f"expected two lists of the same length, at least 2, got {len(a)} and {len(b)}"
        )
    return a, b


def _direction(values: Numbers) -> Numbers:
    """Differences from the mean, scaled to length 1 without overflow or underflow."""
    apart = values - values.mean()
    apart = apart / np.abs(apart).max()
    unit: Numbers = apart / np.linalg.norm(apart)
    return unit


def _ratio(above: Any, below: float) -> float:
    return float(above / below) if below else 0.0


# (type, first word, word after the last)
Entity = tuple[str, int, int]


def is_bio(tags: Iterable[str]) -> bool:
    """Whether all tags are O, B-type or I-type, and there is a type at all."""
    known = set(tags)
    typed = {tag for tag in known if tag[:2] in ("B-", "I-") and len(tag) > 2}
    return bool(typed) and known - typed <= {"O"}


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of a row of tags, as CoNLL's evaluation counts them.

    One begins at B, and at an I that follows O or another type; it continues through I of its type.
    """
    found: list[Entity] = []
    begun: tuple[str, int] | None = None
    for place, tag in enumerate([*tags, "O"]):
        kind = tag[2:] if tag != "O" else None
        if begun is not None and (tag[:2] != "I-" or kind != begun[0]):
            found.append((*begun, place))
            begun = None
        if kind is not None and begun is None:
            begun = (kind, place)
    return found


@dataclass(frozen=True)
class EntityCounts:
    """Counts of entities: predicted correctly (type and both ends), predicted, and true."""

    both: int = 0
    said: int = 0
    true: int = 0

    def __add__(self, other: EntityCounts) -> EntityCounts:
        return EntityCounts(self.both + other.both, self.said + other.said, self.true + other.true)

    @property
    def precision(self) -> float:
        """The share of predicted entities that are true; 0 if there are none."""
        return self.both / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """The share of true entities that were predicted; 0 if there are none."""
        return self.both / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """2·both / (predicted + true); 0 where there are none."""
        return 2 * self.both / (self.said + self.true) if self.said + self.true else 0.0


def entity_counts(truth: Sequence[str], predicted: Sequence[str]) -> EntityCounts:
    """Of one row."""
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true tags and {len(predicted)} predicted ones")
    true, said = set(entities(truth)), set(entities(predicted))
    return EntityCounts(len(true & said), len(said), len(true))
