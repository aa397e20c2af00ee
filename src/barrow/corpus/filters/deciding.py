"""What a filter is, and what a rewriter is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.texts import Texts

KEEP = 0


class Decisions(NamedTuple):
    """For each text: `code` is 0 to keep it, k for the k-th of the filter's reasons, and `value`
    the figure that decided.
    """

    code: npt.NDArray[np.int8]
    value: npt.NDArray[np.float64]

    @classmethod
    def keep_all(cls, num_texts: int) -> Decisions:
        """Nothing to object to, so far."""
        return cls(np.zeros(num_texts, np.int8), np.zeros(num_texts, np.float64))

    def reject(self, reason: int, where: npt.NDArray[np.bool_], value: npt.NDArray[Any]) -> None:
        """Give a reason to the texts that have none yet, where it holds."""
        fresh = where & (self.code == KEEP)
        self.code[fresh] = reason
        self.value[fresh] = value[fresh]


class Filter(Protocol):
    """A frozen dataclass of thresholds that looks at texts and changes nothing.

    The answer for a text depends on that text and its meta alone, whatever lies beside it.
    """

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names to count by, in the order in which they are looked at."""

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text."""

    def cause(self, reason: str, value: float) -> str:
        """A decision in words: ``37 words, fewer than 50``."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after a rewriter, and what was found in it, by name."""

    text: str
    found: Mapping[str, int]


class Rewriter(Protocol):
    """A frozen dataclass that mends texts: the few it touches are made anew, the others stay."""

    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        """Where there may be something to do; quickly, for all texts at once."""

    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:
        """The text as it should be; the same text if there was nothing to do after all."""
