"""Reports on a classifier: its quality, and the scores of a corpus."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.corpus.classifier.model import Classifier
from barrow.corpus.classifier.training import Trained, TrainingSettings, area_under_curve
from barrow.corpus.filters.texts import Texts

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
_NO_DOMAIN = "(none)"
_EXAMPLE_CHARACTERS = 100


@dataclass(frozen=True)
class DomainScores:
    """The scores of a domain's documents.

    `above` is the share that scores the threshold or more, `sampled` the share that Pareto sampling
    keeps on average.
    """

    domain: str
    documents: int
    mean: float
    quantiles: tuple[float, ...]
    above: float
    sampled: float


@dataclass(frozen=True)
class Example:
    """A document near the threshold."""

    domain: str
    score: float
    id: str
    beginning: str


@dataclass(frozen=True)
class ScoreReport:
    """How a corpus scores: domains by name, then all of them together; examples by score."""

    domains: tuple[DomainScores, ...]
    total: DomainScores
    examples: tuple[Example, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same as a JSON object."""
        return asdict(self)


def score_corpus(
    classifier: Classifier,
    parts: Iterable[Texts],
    *,
    by: str,
    threshold: float,
    alpha: float,
    num_examples: int,
) -> ScoreReport:
    """Score every document; `by` is the key of meta to group by, with dots for nested keys."""
    scores_of: defaultdict[str, list[float]] = defaultdict(list)
    nearest: list[tuple[float, int, Example]] = []
    number = 0
    for texts in parts:
        for i, score in enumerate(classifier.scores(texts).tolist()):
            domain = _name_at(texts.metas[i], by.split("."))
            scores_of[domain].append(score)
            # Nearest first, and of equally near ones those that come first.
            rank = (-abs(score - threshold), -number)
            number += 1
            if len(nearest) >= num_examples and (not nearest or rank <= nearest[0][:2]):
                continue
            beginning = " ".join(texts.text_of(i)[: 4 * _EXAMPLE_CHARACTERS].split())
            name = str(texts.metas[i].get("id", ""))
            example = Example(domain, score, name, beginning[:_EXAMPLE_CHARACTERS])
            heapq.heappush(nearest, (*rank, example))
            if len(nearest) > num_examples:
                heapq.heappop(nearest)
    domains = [
        _describe(name, np.array(scores_of[name]), threshold=threshold, alpha=alpha)
        for name in sorted(scores_of)
    ]
    everything = np.array([score for name in sorted(scores_of) for score in scores_of[name]])
    return ScoreReport(
        tuple(domains),
        _describe("total", everything, threshold=threshold, alpha=alpha),
        tuple(sorted((example for *_, example in nearest), key=lambda example: example.score)),
    )


def model_card(
    trained: Trained, settings: TrainingSettings, sha256: str, sources: dict[str, list[str]]
) -> dict[str, Any]:
    """How a classifier was trained, and its results on the test examples.

    `accuracy` is the mean of both sides' at 0.5. At each threshold: the shares of both that score
    as much or more.
    """
    positives, negatives = trained.test_positives, trained.test_negatives
    return {
        "sha256": sha256,
        "settings": config.to_dict(settings),
        "sources": sources,
        "trained_on": {"positives": trained.num_positives, "negatives": trained.num_negatives},
        "test": {
            "positives": len(positives),
            "negatives": len(negatives),
            "auc": round(area_under_curve(positives, negatives), 6),
            "accuracy": round(float((positives >= 0.5).mean() + (negatives < 0.5).mean()) / 2, 6),
            "thresholds": [
                {
                    "threshold": threshold,
                    "positives": round(float((positives >= threshold).mean()), 6),
                    "negatives": round(float((negatives >= threshold).mean()), 6),
                }
                for threshold in _THRESHOLDS
            ],
        },
    }


def pareto_share(scores: npt.NDArray[np.float64], alpha: float) -> npt.NDArray[np.float64]:
    """The probability that a Pareto draw exceeds 1 − score."""
    return np.asarray((2.0 - scores) ** -alpha)


def _describe(
    name: str, scores: npt.NDArray[np.float64], *, threshold: float, alpha: float
) -> DomainScores:
    if not len(scores):
        return DomainScores(name, 0, 0.0, (0.0,) * len(QUANTILES), 0.0, 0.0)
    return DomainScores(
        name,
        len(scores),
        float(scores.mean()),
        tuple(np.quantile(scores, QUANTILES).tolist()),
        float((scores >= threshold).mean()),
        float(pareto_share(scores, alpha).mean()),
    )


def _name_at(meta: Any, steps: list[str]) -> str:
    value = meta
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return _NO_DOMAIN if value is None else str(value)
