"""Metrics of predictions, in NumPy: functions of counts or of two lists, and all of a task.

Counts add up over batches, so a figure is that of all rows, however they were divided. Where
scikit-learn or SciPy defines a figure, these give the same number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.stream.labelled.examples import Kind

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
# (type, first word, word after the last)
Entity = tuple[str, int, int]
Outputs = Sequence[npt.NDArray[np.float32]]
# Measures of each kind; those in LOWER are better when they are lower.
METRICS = {
    "classify": ("accuracy", "f1", "macro_f1", "matthews", "loss"),
    "tag": ("entity_f1", "accuracy", "macro_f1", "matthews", "loss"),
    "regress": ("pearson", "spearman", "mse", "loss"),
}
LOWER = ("loss", "mse")


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


def compute_metrics(
    kind: Kind, outputs: Outputs, targets: Sequence[npt.NDArray[Any]], labels: Sequence[str] = ()
) -> dict[str, float]:
    """All metrics of a task over all rows.

    Outputs are logits [num] of a class or [words, num] of tags, or a number. `f1` is given for two
    classes and is that of the second; `entity_f1` where tags are BIO. What is undefined
    (correlation with a constant) is NaN. `loss` is the training objective.
    """
    if kind == "regress":
        return _numbers(np.array([float(x) for x in outputs]), np.array(targets, np.float64))
    logits = np.concatenate([np.reshape(x, (-1, len(labels))) for x in outputs])
    true = np.concatenate([np.reshape(x, -1) for x in targets])
    said = logits.argmax(axis=1)
    counts = confusion(true, said, len(labels))
    found = {
        "loss": _nats(logits.astype(np.float64), true),
        "accuracy": accuracy(counts),
        "macro_f1": macro_f1(counts),
        "matthews": matthews(counts),
    }
    if kind == "classify" and len(labels) == 2:
        found["f1"] = f1(counts)
    if kind == "tag" and is_bio(labels):
        found["entity_f1"] = entities_of(outputs, targets, labels).f1
    return found


def entities_of(
    outputs: Outputs, targets: Sequence[npt.NDArray[Any]], labels: Sequence[str]
) -> EntityCounts:
    """Predicted and true entities of all rows."""
    rows = (
        entity_counts([labels[i] for i in true], [labels[i] for i in out.argmax(axis=-1)])
        for out, true in zip(outputs, targets, strict=True)
    )
    return sum(rows, EntityCounts())


def usual_metric(kind: Kind, labels: Sequence[str]) -> str:
    """The default metric of a task."""
    if kind == "tag":
        return "entity_f1" if is_bio(labels) else "accuracy"
    return "accuracy" if kind == "classify" else "pearson"


def refuse_metric(metric: str, kind: Kind, labels: Sequence[str]) -> None:
    """Raise where a metric does not apply to these labels."""
    if metric == "f1" and len(labels) != 2:
        raise ValueError(f"f1 needs two classes, got {len(labels)}: use macro_f1 or accuracy")
    if metric == "entity_f1" and not (kind == "tag" and is_bio(labels)):
        raise ValueError(
            f"entity_f1 needs tags O, B-type and I-type, got {', '.join(labels[:8])}: use "
            "accuracy or macro_f1"
        )


def _numbers(said: npt.NDArray[np.float64], true: npt.NDArray[np.float64]) -> dict[str, float]:
    error = float(np.mean((said - true) ** 2))
    both = {"pearson": pearson, "spearman": spearman}
    found = {name: f(said, true) if len(said) > 1 else math.nan for name, f in both.items()}
    return {"loss": error, "mse": error, **found}


def _nats(logits: npt.NDArray[np.float64], true: npt.NDArray[Any]) -> float:
    above = logits - logits.max(axis=1, keepdims=True)
    chosen = above[np.arange(len(true)), true]
    return float(np.mean(np.log(np.exp(above).sum(axis=1)) - chosen))
