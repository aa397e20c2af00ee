"""Metrics by name, from the outputs of a head and the true labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.stream.labelled.examples import Kind
from barrow.train.finetune import metrics
from barrow.train.finetune.metrics import EntityCounts, entity_counts, is_bio

Outputs = Sequence[npt.NDArray[np.float32]]
# Measures of each kind; those in LOWER are better when they are lower.
METRICS = {
    "classify": ("accuracy", "f1", "macro_f1", "matthews", "loss"),
    "tag": ("entity_f1", "accuracy", "macro_f1", "matthews", "loss"),
    "regress": ("pearson", "spearman", "mse", "loss"),
}
LOWER = ("loss", "mse")


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
    counts = metrics.confusion(true, said, len(labels))
    found = {
        "loss": _nats(logits.astype(np.float64), true),
        "accuracy": metrics.accuracy(counts),
        "macro_f1": metrics.macro_f1(counts),
        "matthews": metrics.matthews(counts),
    }
    if kind == "classify" and len(labels) == 2:
        found["f1"] = metrics.f1(counts)
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
    both = {"pearson": metrics.pearson, "spearman": metrics.spearman}
    found = {name: f(said, true) if len(said) > 1 else math.nan for name, f in both.items()}
    return {"loss": error, "mse": error, **found}


def _nats(logits: npt.NDArray[np.float64], true: npt.NDArray[Any]) -> float:
    above = logits - logits.max(axis=1, keepdims=True)
    chosen = above[np.arange(len(true)), true]
    return float(np.mean(np.log(np.exp(above).sum(axis=1)) - chosen))
