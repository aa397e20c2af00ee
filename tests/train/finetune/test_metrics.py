from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.train.finetune import metrics
from barrow.train.finetune.metrics import compute_metrics, refuse_metric, usual_metric

classes = st.integers(2, 5).flatmap(
    lambda num: st.tuples(
        st.just(num),
        st.lists(
            st.tuples(st.integers(0, num - 1), st.integers(0, num - 1)), min_size=1, max_size=40
        ),
    )
)
# Few values, so that ties are the rule.
tied = st.lists(
    st.tuples(st.integers(-3, 3).map(float), st.sampled_from([0.5, -1.25, 3.0, 1e6])),
    min_size=2,
    max_size=30,
)


@given(classes)
@settings(max_examples=25)
def test_classes_as_scikit_learn_counts_them(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    """ROBERTA-3."""
    num, pairs = drawn
    true, said = map(list, zip(*pairs, strict=True))
    counts = metrics.confusion(true, said, num)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (
            counts == sklearn.metrics.confusion_matrix(true, said, labels=list(range(num)))
        ).all()
        expected = {
            "accuracy": sklearn.metrics.accuracy_score(true, said),
            "macro_f1": sklearn.metrics.f1_score(true, said, average="macro", zero_division=0),
            "matthews": sklearn.metrics.matthews_corrcoef(true, said),
        }
        binary = sklearn.metrics.f1_score(
            [one == 1 for one in true], [one == 1 for one in said], zero_division=0
        )
    for name, value in expected.items():
        assert getattr(metrics, name)(counts) == pytest.approx(value, abs=1e-12), name
    assert metrics.f1(counts) == pytest.approx(binary, abs=1e-12)


def test_counts_add_up() -> None:
    true, said = np.random.default_rng(0).integers(0, 3, (2, 100))
    parts = sum(metrics.confusion(true[i::3], said[i::3], 3) for i in range(3))
    assert (parts == metrics.confusion(true, said, 3)).all()


@given(tied)
@settings(max_examples=40)
def test_correlations_as_scipy_has_them(pairs: list[tuple[float, float]]) -> None:
    """ROBERTA-3: ties, and lists that never change."""
    a, b = map(list, zip(*pairs, strict=True))
    np.testing.assert_array_equal(metrics.ranks(a), scipy.stats.rankdata(a))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ours, theirs in (
            (metrics.pearson, scipy.stats.pearsonr),
            (metrics.spearman, scipy.stats.spearmanr),
        ):
            assert ours(a, b) == pytest.approx(theirs(a, b).statistic, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_correlations_of_any_size(scale: float) -> None:
    a, b = np.random.default_rng(1).standard_normal((2, 50))
    expected = scipy.stats.pearsonr(a, b).statistic
    assert metrics.pearson(a * scale, b) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(metrics.pearson([0.1] * 3, [1, 2, 3]))
    squares = sklearn.metrics.mean_squared_error(a, b)
    assert metrics.mean_squared_error(a, b) == pytest.approx(squares, abs=1e-12)


def test_what_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="2 true classes and 1 predicted"):
        metrics.confusion([0, 1], [0], 2)
    with pytest.raises(ValueError, match="classes must be from 0 to 1, got 0 to 2"):
        metrics.confusion([0, 1], [0, 2], 2)
    with pytest.raises(ValueError, match="the same length, at least 2, got 1 and 1"):
        metrics.pearson([1.0], [1.0])
    assert metrics.accuracy(metrics.confusion([], [], 2)) == 0.0
    assert metrics.macro_f1(metrics.confusion([], [], 2)) == 0.0


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
