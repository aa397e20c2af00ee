from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from barrow.train.finetune.judge import compute_metrics, refuse_metric, usual_metric


def test_classes() -> None:
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((50, 2)).astype(np.float32)
    true = rng.integers(0, 2, 50)
    found = compute_metrics("classify", list(logits), list(true), ("no", "yes"))
    said = logits.argmax(axis=1)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = {
        "loss": sklearn.metrics.log_loss(true, shares),
        "accuracy": sklearn.metrics.accuracy_score(true, said),
        "f1": sklearn.metrics.f1_score(true, said),
        "macro_f1": sklearn.metrics.f1_score(true, said, average="macro"),
        "matthews": sklearn.metrics.matthews_corrcoef(true, said),
    }
    assert found == pytest.approx(expected, abs=1e-6)
    assert "f1" not in compute_metrics(
        "classify", [np.zeros(3, np.float32)], [np.array(0)], ("a", "b", "c")
    )


def test_numbers() -> None:
    said, true = np.random.default_rng(0).standard_normal((2, 40)).astype(np.float32)
    found = compute_metrics("regress", list(said), list(true))
    assert found["pearson"] == pytest.approx(scipy.stats.pearsonr(said, true).statistic, abs=1e-6)
    assert found["spearman"] == pytest.approx(scipy.stats.spearmanr(said, true).statistic)
    assert found["loss"] == found["mse"] == pytest.approx(np.mean((said - true) ** 2))
    assert math.isnan(compute_metrics("regress", list(said[:1]), list(true[:1]))["pearson"])


def test_tags() -> None:
    labels = ("O", "B-A", "I-A")
    rows = [np.eye(3, dtype=np.float32)[[1, 2, 0]], np.eye(3, dtype=np.float32)[[0, 1]]]
    true = [np.array([1, 2, 0]), np.array([1, 1])]
    found = compute_metrics("tag", rows, true, labels)
    assert found["accuracy"] == 4 / 5
    assert found["entity_f1"] == 2 * 2 / (2 + 3)
    plain = compute_metrics("tag", rows, true, ("x", "y", "z"))
    assert "entity_f1" not in plain


def test_which_measure() -> None:
    assert usual_metric("tag", ("O", "B-A")) == "entity_f1"
    assert usual_metric("tag", ("NOUN", "VERB")) == "accuracy"
    assert usual_metric("classify", ("a", "b")) == "accuracy"
    assert usual_metric("regress", ()) == "pearson"
    refuse_metric("f1", "classify", ("a", "b"))
    with pytest.raises(ValueError, match="f1 needs two classes, got 3"):
        refuse_metric("f1", "classify", ("a", "b", "c"))
    with pytest.raises(ValueError, match="entity_f1 needs tags O, B-type and I-type, got X, Y"):
        refuse_metric("entity_f1", "tag", ("X", "Y"))
