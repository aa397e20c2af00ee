"""A filter: no shouting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus import Decisions, Filter, Texts


@dataclass(frozen=True)
class Calm(Filter):
    """Keeps texts of whose characters at most `max_capitals` (a share) are capitals."""

    max_capitals: float = 0.3

    reasons = ("shouting",)

    def decide(self, texts: Texts) -> Decisions:
        some = (texts.text_of(i) for i in range(len(texts)))
        shares = np.array([sum(map(str.isupper, text)) / max(len(text), 1) for text in some])
        decisions = Decisions.keep_all(len(texts))
        decisions.reject(1, shares > self.max_capitals, shares)  # 1: the first of the reasons
        return decisions

    def cause(self, reason: str, value: float) -> str:
        return f"{value:.0%} capitals, more than {self.max_capitals:.0%}"
