"""The protocols `Filter` and `Rewriter`: the steps applied to a domain's documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.texts import Texts

KEEP = 0


class Decisions(NamedTuple):
    """For each text: `code` is 0 to keep it, k for the k-th of the filter's reasons, and `value`
    the number that was decisive.
    """

    code: npt.NDArray[np.int8]
    value: npt.NDArray[np.float64]

    @classmethod
    def keep_all(cls, num_texts: int) -> Decisions:
        """Nothing rejected so far."""
        return cls(np.zeros(num_texts, np.int8), np.zeros(num_texts, np.float64))

    def reject(self, reason: int, where: npt.NDArray[np.bool_], value: npt.NDArray[Any]) -> None:
        """Reject for this reason the texts where it holds that have no reason yet."""
        fresh = where & (self.code == KEEP)
        self.code[fresh] = reason
        self.value[fresh] = value[fresh]


class Described(NamedTuple):
    """Facts about texts that a filter found and later stages and the report use:
    language codes (ISO 639-1 where there is one), and quality scores from 0 to 1.
    """

    languages: npt.NDArray[np.str_] | None = None
    quality: npt.NDArray[np.float32] | None = None


@runtime_checkable
class Filter(Protocol):
    """Keeps or rejects texts: a frozen dataclass of thresholds that inherits from this.

    The decision about a text depends on that text and its meta alone, not on other texts.

    `version` is part of the key of its tasks. In barrow it is raised whenever a decision or cause
    changes; of code outside barrow the source is part of the key.
    """

    version: ClassVar[int] = 1

    @property
    @abstractmethod
    def reasons(self) -> tuple[str, ...]:
        """Names of its reasons, in the order of the checks."""

    @abstractmethod
    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text."""

    @abstractmethod
    def cause(self, reason: str, value: float) -> str:
        """A decision in words: ``37 words, fewer than 50``."""

    def describe(self, texts: Texts) -> Described:  # noqa: ARG002
        """Other facts that it finds."""
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
    """Edits texts where it `touches` them: a frozen dataclass that inherits from this.

    `version` is that of a `Filter`: raised whenever an edited text or what is found changes.
    """

    version: ClassVar[int] = 1

    @abstractmethod
    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        """Which texts may need a change; a fast check of all texts at once."""

    @abstractmethod
    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:
        """The edited text; the same text if there was nothing to change."""

    def resolved(self) -> Self:
        """The same, with the hashes of the files that it reads: those decide, too."""
        return self


Step = Filter | Rewriter
