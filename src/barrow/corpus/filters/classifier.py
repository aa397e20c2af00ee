"""Keeps texts by the score of a learned classifier, by threshold or by sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xxhash

from barrow.corpus.classifier.model import Classifier, classifier_sha256, load_classifier
from barrow.corpus.filters.filter import Decisions, Described, Filter
from barrow.corpus.filters.texts import Texts
from barrow.errors import ConfigError

_LOW_QUALITY = 1


@dataclass(frozen=True)
class Quality(Filter):
    """Keeps texts by their score from the quality classifier in the file `model`.

    With ``sampling="pareto"`` a text is kept when a Pareto draw exceeds 1 − score, as in GPT-3 and
    The Pile, so some low scores are kept too; with ``"threshold"`` when its score is at least
    `threshold`. `sha256` is that of the file: equal settings then mean equal decisions.
    """

    model: Path
    sampling: Literal["pareto", "threshold"] = "pareto"
    alpha: float = 3.0
    threshold: float = 0.5
    seed: int = 42
    sha256: str | None = None

    def __post_init__(self) -> None:
        if self.sampling not in ("pareto", "threshold"):
            raise ConfigError(f"sampling must be 'pareto' or 'threshold', got {self.sampling!r}")
        if not self.alpha > 0:
            raise ConfigError(f"alpha must be > 0, got {self.alpha}")
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"threshold must be between 0 and 1, got {self.threshold}")

    def resolved(self) -> Quality:
        """The same with the file's `sha256`, for the key of a task; a wrong one is an error."""
        return replace(self, sha256=self._checked(classifier_sha256(self.model)))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names to count by."""
        return ("low-quality",)

    def scores(self, texts: Texts) -> npt.NDArray[np.float32]:
        """The probability, from 0 to 1, that each text is a positive."""
        return self._classifier().scores(texts)

    def describe(self, texts: Texts) -> Described:
        """The score of each text."""
        return Described(quality=self.scores(texts))

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text; the figure is the score."""
        scores = self.scores(texts).astype(np.float64)
        decisions = Decisions.keep_all(len(texts))
        if self.sampling == "threshold":
            low = scores < self.threshold
        else:
            low = pareto_draws(texts, alpha=self.alpha, seed=self.seed) <= 1 - scores
        decisions.reject(_LOW_QUALITY, low, scores)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        """A decision in words."""
        del reason
        if self.sampling == "threshold":
            return f"score {value:.3f}, less than {self.threshold}"
        return f"score {value:.3f}, and its draw was no more than {1 - value:.3f}"

    def _classifier(self) -> Classifier:
        classifier = load_classifier(self.model)
        self._checked(classifier.sha256)
        return classifier

    def _checked(self, sha256: str) -> str:
        if self.sha256 not in (None, sha256):
            raise ConfigError(
                f"{self.model} has changed: expected sha256 {self.sha256}, got {sha256}"
            )
        return sha256


def pareto_draws(texts: Texts, *, alpha: float, seed: int) -> npt.NDArray[np.float64]:
    """A draw for each text from the Lomax (shifted Pareto) distribution, as numpy.random.pareto.

    It depends on the seed and the document's ``meta["id"]``, or its text if it has none.
    """
    uniform = np.empty(len(texts), np.float64)
    for i, meta in enumerate(texts.metas):
        data = _identity(meta)
        if data is None:
            data = texts.text[texts.offsets[i] : texts.offsets[i + 1]].tobytes()
        number = xxhash.xxh64_intdigest(data, seed=seed % (1 << 64))
        uniform[i] = ((number >> 11) + 0.5) / (1 << 53)
    return uniform ** (-1 / alpha) - 1


def _identity(meta: Mapping[str, Any]) -> bytes | None:
    number = meta.get("id")
    return None if number is None else str(number).encode("utf-8", "surrogatepass")
