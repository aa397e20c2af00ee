"""Training the classifier (PILE-8)."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import config
from barrow.corpus.classifier.model import Classifier, ClassifierSettings
from barrow.corpus.classifier.training import (
    Examples,
    TrainingSettings,
    area_under_curve,
    read_examples,
    train,
)
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

GOOD = [
    "mound",
    "stone",
    "river",
    "hill",
    "history",
    "people",
    "built",
    "ancient",
    "carried",
    "buried",
]
BAD = ["click", "buy", "now", "cheap", "offer", "free", "login", "password", "cart", "subscribe"]
BOTH = ["the", "of", "and", "a", "to", "in", "is", "it", "was", "for", "on", "with"]
MASK = (1 << 64) - 1
SETTINGS = TrainingSettings(
    classifier=ClassifierSettings(table_bits=12, min_characters=20), test_share=0.2
)


def documents(words: list[str], number: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(words + BOTH * 3, k=40)) for _ in range(number)]


def texts_of(texts: list[str]) -> Texts:
    return Texts.of_strings(texts, [{}] * len(texts), Scratch())


def examples(texts: list[str], settings: TrainingSettings = SETTINGS) -> Examples:
    return read_examples([texts_of(texts)], settings)


def test_it_learns() -> None:
    good, bad = documents(GOOD, 200, 1), documents(BAD, 100, 2)
    trained = train(examples(good), examples(bad), SETTINGS)
    assert area_under_curve(trained.test_positives, trained.test_negatives) > 0.99
    assert trained.num_positives + len(trained.test_positives) == 200
    assert trained.num_negatives + len(trained.test_negatives) == 100
    assert 20 < len(trained.test_positives) < 60
    classifier = Classifier(SETTINGS.classifier, trained.weights, trained.bias, "")
    assert classifier.scores(texts_of(documents(GOOD, 20, 3))).mean() > 0.8
    assert classifier.scores(texts_of(documents(BAD, 20, 4))).mean() < 0.2


def test_scores_of_test_documents_are_those_of_the_classifier() -> None:
    good = documents(GOOD, 60, 1)
    trained = train(examples(good), examples(documents(BAD, 60, 2)), SETTINGS)
    scores = Classifier(SETTINGS.classifier, trained.weights, trained.bias, "").scores(
        texts_of(good)
    )
    for score in trained.test_positives:
        assert np.abs(scores - score).min() < 1e-5


def mixed(key: int, seed: int) -> int:
    value = (key * 0x9E3779B97F4A7C15 + seed) & MASK
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & MASK
    return value ^ value >> 33


def slow_training(sides: list[Examples], settings: TrainingSettings) -> tuple[np.ndarray, float]:
    """The same again in plain Python."""
    learnt: list[tuple[int, list[int], float]] = []
    for side, label in zip(sides, (1.0, 0.0), strict=True):
        for i, key in enumerate(side.keys.tolist()):
            if mixed(key, 0x68656C64) >= settings.test_share * 2**64:
                features = side.features[side.offsets[i] : side.offsets[i + 1]].tolist()
                learnt.append((key, features, label))
    num_positives = sum(label == 1.0 for _, _, label in learnt)
    weight = {1.0: len(learnt) / 2 / num_positives}
    weight[0.0] = len(learnt) / 2 / (len(learnt) - num_positives)
    weights, squares = np.zeros(1 << settings.classifier.table_bits), {}
    bias, bias_square = 0.0, 1e-6
    for epoch in range(settings.epochs):
        for _, features, label in sorted(learnt, key=lambda e: mixed(e[0], settings.seed + epoch)):
            root = math.sqrt(len(features))
            share = 1 / (1 + math.exp(-(bias + sum(weights[f] for f in features) / root)))
            slope = (share - label) * weight[label]
            bias_square += slope**2
            bias -= settings.learning_rate * slope / math.sqrt(bias_square)
            for feature in features:
                squares[feature] = squares.get(feature, 1e-6) + (slope / root) ** 2
                step = slope / root / math.sqrt(squares[feature])
                weights[feature] -= settings.learning_rate * step
    return weights, bias


def test_training_is_that_of_the_definition() -> None:
    settings = replace(SETTINGS, epochs=3, learning_rate=0.2)
    sides = [examples(documents(GOOD, 30, 1), settings), examples(documents(BOTH, 12, 2), settings)]
    trained = train(sides[0], sides[1], settings)
    weights, bias = slow_training(sides, settings)
    assert trained.bias == pytest.approx(bias, abs=1e-4)
    assert trained.weights.tolist() == pytest.approx(weights.tolist(), abs=1e-3)
    assert np.abs(weights).max() > 0.1


def test_which_documents_are_taken_follows_from_the_seed() -> None:
    good = documents(GOOD, 40, 1)
    taken = [
        examples(good, replace(SETTINGS, max_documents=10, seed=seed)).features.tolist()
        for seed in (1, 2)
    ]
    assert taken[0] != taken[1]


def test_the_same_every_time_and_another_with_another_seed() -> None:
    good, bad = documents(GOOD, 50, 1), documents(BAD, 50, 2)
    first = train(examples(good), examples(bad), SETTINGS)
    again = train(examples(good), examples(bad), SETTINGS)
    assert (first.weights == again.weights).all()
    assert first.bias == again.bias
    other_settings = replace(SETTINGS, seed=7)
    other = train(examples(good, other_settings), examples(bad, other_settings), other_settings)
    assert (first.weights != other.weights).any()


def test_order_and_blocks_make_no_difference() -> None:
    good = documents(GOOD, 40, 1)
    settings = replace(SETTINGS, max_documents=25)
    one = examples(good, settings)
    parts = [texts_of(good[at : at + 7]) for at in range(0, 40, 7)][::-1]
    other = read_examples(parts, settings)
    for a, b in zip(one, other, strict=True):
        assert (a == b).all()
    assert len(one) == 25


def test_copies_count_once_and_short_texts_not_at_all() -> None:
    good = documents(GOOD, 10, 1)
    again = [text.upper() + "!" for text in good]
    assert len(examples([*good, *again, "short", ""])) == 10


def test_copies_are_on_one_side_of_the_split() -> None:
    # The same texts as positives and negatives: nothing held out was learnt.
    same = documents(GOOD, 100, 1)
    trained = train(examples(same), examples(same), SETTINGS)
    assert sorted(trained.test_positives) == sorted(trained.test_negatives)
    assert area_under_curve(trained.test_positives, trained.test_negatives) == 0.5


def test_both_sides_count_the_same() -> None:
    good, bad = documents(BOTH, 400, 1), documents(BOTH, 40, 2)
    trained = train(examples(good), examples(bad), replace(SETTINGS, epochs=1))
    # Without it the bias would be near log(10).
    assert abs(trained.bias) < 1.0


def test_too_few_documents_are_an_error() -> None:
    good = documents(GOOD, 50, 1)
    with pytest.raises(ConfigError, match="1 usable negatives are too few to split"):
        train(examples(good), examples(["one lonely document, of two sentences"]), SETTINGS)
    with pytest.raises(ConfigError, match="0 usable positives .* more than 20 characters"):
        train(examples([]), examples(good), SETTINGS)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
)
def test_area_under_the_curve(positives: list[int], negatives: list[int]) -> None:
    pairs = [(p > n) + (p == n) / 2 for p in positives for n in negatives]
    area = area_under_curve(np.array(positives, float), np.array(negatives, float))
    assert math.isclose(area, sum(pairs) / len(pairs))


def test_settings_are_checked_and_saved() -> None:
    assert config.from_json(TrainingSettings, config.to_json(SETTINGS)) == SETTINGS
    for wrong in ({"test_share": 0.0}, {"epochs": 0}, {"learning_rate": 0.0}, {"max_documents": 0}):
        with pytest.raises(ConfigError):
            TrainingSettings(**wrong)
