"""What a filter is, and what a rewriter is: the steps that a domain's documents go through."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

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
        """Nothing rejected so far."""
        return cls(np.zeros(num_texts, np.int8), np.zeros(num_texts, np.float64))

    def reject(self, reason: int, where: npt.NDArray[np.bool_], value: npt.NDArray[Any]) -> None:
        """Give a reason to the texts that have none yet, where it holds."""
        fresh = where & (self.code == KEEP)
        self.code[fresh] = reason
        self.value[fresh] = value[fresh]


class Described(NamedTuple):
    """What later stages and the report want to know about texts, where a filter finds it out:
    codes of languages (ISO 639-1 where there is one), and scores of quality from 0 to 1.
    """

    languages: npt.NDArray[np.str_] | None = None
    quality: npt.NDArray[np.float32] | None = None


@runtime_checkable
class Filter(Protocol):
    """Looks at texts and changes nothing: a frozen dataclass of thresholds that inherits from this.

    The answer for a text depends on that text and its meta alone, not on the texts next to it.
    """

    @property
    @abstractmethod
    def reasons(self) -> tuple[str, ...]:
        """Names to count by, in the order in which they are looked at."""

    @abstractmethod
    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text."""

    @abstractmethod
    def cause(self, reason: str, value: float) -> str:
        """A decision in words: ``37 words, fewer than 50``."""

    def describe(self, texts: Texts) -> Described:  # noqa: ARG002
        """What else it finds out."""
        return Described()

    def resolved(self) -> Self:
        """The same, with the hashes of the files that it reads: those decide, too."""
        return self


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after a rewriter, and what was found in it, by name."""

    text: str
    found: Mapping[str, int]


@runtime_checkable
class Rewriter(Protocol):
    """Edits texts, only those that it touches: a frozen dataclass that inherits from this."""

    @abstractmethod
    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        """Where there may be something to do; quickly, for all texts at once."""

    @abstractmethod
    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:
        """The text as it should be; the same text if there was nothing to do after all."""

    def resolved(self) -> Self:
        """The same, with the hashes of the files that it reads: those decide, too."""
        return self


Step = Filter | Rewriter
