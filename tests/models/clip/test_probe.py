from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from barrow.models.clip.probe import choose_probe, fit_probe, split

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 120)
FEATURES = (RNG.normal(size=(3, 6))[LABELS] + RNG.normal(size=(120, 6))).astype(np.float32)


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_weights_are_those_of_scikit_learn(strength: float) -> None:
    """CLIP-11: the same minimum, to three digits."""
    theirs = LogisticRegression(C=strength, max_iter=5000, tol=1e-8).fit(FEATURES, LABELS)
    ours = fit_probe(FEATURES, LABELS, num_classes=3, strength=strength)
    np.testing.assert_allclose(ours.weight.T, theirs.coef_, atol=5e-3)
    spread = ours.bias - ours.bias.mean()
    np.testing.assert_allclose(spread, theirs.intercept_ - theirs.intercept_.mean(), atol=5e-3)
    np.testing.assert_array_equal(ours.predict(FEATURES), theirs.predict(FEATURES))
    assert ours.accuracy(FEATURES, LABELS) == theirs.score(FEATURES, LABELS)


def test_the_strength_is_chosen_on_rows_that_were_not_seen() -> None:
    seen, validation = slice(0, 60), (FEATURES[60:], LABELS[60:])
    strengths = (1e-4, 1.0, 1e4)
    chosen, reached = choose_probe(
        FEATURES[seen], LABELS[seen], validation, num_classes=3, strengths=strengths
    )
    each = {
        c: fit_probe(FEATURES[seen], LABELS[seen], num_classes=3, strength=c).accuracy(*validation)
        for c in strengths
    }
    assert reached == max(each.values()) == each[chosen.strength]


def test_parts_are_disjoint_and_have_every_class() -> None:
    labels = np.array([0] * 10 + [1] * 3 + [2] * 40)
    parts = split(labels, test=0.2, validation=0.25, seed=1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(53))
    assert [np.bincount(labels[part]).tolist() for part in parts] == [
        [6, 1, 24],
        [2, 1, 8],
        [2, 1, 8],
    ]
    again = split(labels, test=0.2, validation=0.25, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit_probe(FEATURES, LABELS[:5], num_classes=3), "as many labels"),
        (lambda: fit_probe(FEATURES, LABELS, num_classes=2), "labels must be from 0 to 1"),
        (lambda: fit_probe(FEATURES, LABELS, num_classes=3, strength=0), "strength must be > 0"),
        (lambda: fit_probe(FEATURES * np.inf, LABELS, num_classes=3), "features are not finite"),
        (lambda: split(LABELS, test=1.0, validation=0.2, seed=0), "test must be between 0 and 1"),
        (
            lambda: split(np.array([0, 0, 0, 1]), test=0.2, validation=0.2, seed=0),
            "class 1 has 1 images; at least 3",
        ),
        (
            lambda: choose_probe(FEATURES, LABELS, (FEATURES, LABELS), num_classes=3, strengths=()),
            "no strengths",
        ),
    ],
)
def test_bad_arguments(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
