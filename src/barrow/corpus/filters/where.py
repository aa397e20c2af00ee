"""Texts that a function of your own accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.texts import Texts


@dataclass(frozen=True)
class Where(Filter):
    """Keeps texts for which a function of yours, of the text and its meta, returns True.

    The function is at the top level of a module or recipe file, since a lambda cannot be saved. Its
    source is part of the settings: edit it, and its documents are examined again. For speed, write
    a `Filter`, which gets many texts at once.

    - `function`: of a text and its meta
    - `reason`: why others are rejected
    """

    function: Callable[[str, dict[str, Any]], bool]
    reason: str = "not-wanted"

    @property
    def reasons(self) -> tuple[str, ...]:
        return (self.reason,)

    def decide(self, texts: Texts) -> Decisions:
        answers = [self.function(texts.text_of(i), meta) for i, meta in enumerate(texts.metas)]
        decisions = Decisions.keep_all(len(texts))
        wanted = np.array(answers, np.bool_)
        decisions.reject(1, ~wanted, wanted)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        del reason, value
        return f"{self.function.__name__} is not true of it"
