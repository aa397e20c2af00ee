"""Tables of scores, and the model card."""

from __future__ import annotations

import json

import numpy as np
import pytest

from barrow.corpus.classifier.model import Classifier, ClassifierSettings
from barrow.corpus.classifier.report import model_card, pareto_share, score_corpus
from barrow.corpus.classifier.training import Trained, TrainingSettings
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch


def classifier() -> Classifier:
    weights = np.random.default_rng(3).normal(size=1024).astype(np.float32)
    return Classifier(ClassifierSettings(table_bits=10, min_characters=3), weights, 0.0, "")


WORDS = [
    "barrow",
    "mound",
    "stone",
    "river",
    "hill",
    "ridge",
    "valley",
    "meadow",
    "lane",
    "wood",
    "path",
    "field",
]
TEXTS = [f"{a} {b}" for a in WORDS for b in WORDS]
METAS = [
    {"origin": {"name": "even" if i % 2 == 0 else "odd"}, "id": f"doc-{i}"}
    for i in range(len(TEXTS))
]


def test_domains_quantiles_and_examples() -> None:
    model = classifier()
    texts = Texts.of_strings(TEXTS, METAS, Scratch())
    scores = model.scores(texts).astype(float)
    halves = [
        Texts.of_strings(TEXTS[part], METAS[part], Scratch())
        for part in (slice(0, 50), slice(50, None))
    ]
    report = score_corpus(model, halves, by="origin.name", threshold=0.4, alpha=3.0, num_examples=4)
    assert [row.domain for row in report.domains] == ["even", "odd"]
    even = scores[::2]
    row = report.domains[0]
    assert (row.documents, row.mean) == (len(even), pytest.approx(even.mean()))
    assert row.quantiles == pytest.approx(np.quantile(even, [0.05, 0.25, 0.5, 0.75, 0.95]))
    assert row.above == pytest.approx((even >= 0.4).mean())
    assert row.sampled == pytest.approx(pareto_share(even, 3.0).mean())
    assert report.total.documents == len(TEXTS)
    nearest = sorted(range(len(TEXTS)), key=lambda i: (abs(scores[i] - 0.4), i))[:4]
    assert {example.id for example in report.examples} == {f"doc-{i}" for i in nearest}
    shown = [example.score for example in report.examples]
    assert shown == sorted(shown)
    assert report.examples[0].beginning in TEXTS
    assert json.loads(json.dumps(report.as_dict()))["total"]["documents"] == len(TEXTS)


def test_nothing_to_score() -> None:
    report = score_corpus(classifier(), [], by="x", threshold=0.5, alpha=3.0, num_examples=0)
    assert (report.domains, report.total.documents, report.examples) == ((), 0, ())
    texts = Texts.of_strings(["some text"], [{}], Scratch())
    report = score_corpus(classifier(), [texts], by="x", threshold=0.5, alpha=3.0, num_examples=0)
    assert report.domains[0].domain == "(none)"
    assert report.examples == ()


def test_shares_are_those_of_the_distribution() -> None:
    draws = np.random.default_rng(0).pareto(3.0, 200_000)
    for score in (0.0, 0.5, 0.9, 1.0):
        expected = (draws > 1 - score).mean()
        assert pareto_share(np.array([score]), 3.0)[0] == pytest.approx(expected, abs=0.005)


def test_the_card() -> None:
    trained = Trained(np.zeros(1), 0.0, 7, 8, np.array([0.9, 0.6, 0.2]), np.array([0.1, 0.55]))
    card = model_card(trained, TrainingSettings(), "ab" * 32, {"positives": ["p"]})
    test = card["test"]
    assert test["auc"] == pytest.approx(4 / 6 + 1 / 6, abs=1e-6)
    assert test["accuracy"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-6)
    assert test["thresholds"][2] == {
        "threshold": 0.5,
        "positives": pytest.approx(2 / 3, abs=1e-6),
        "negatives": 0.5,
    }
    assert card["trained_on"] == {"positives": 7, "negatives": 8}
    assert card["settings"]["classifier"]["first_characters"] == 4000
    assert card["sources"] == {"positives": ["p"]}
