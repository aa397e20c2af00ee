"""Settings of deduplication."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from barrow.errors import ConfigError

Unit = Literal["word", "sentence", "line", "paragraph"]
Keep = Literal["one", "none"]


@dataclass(frozen=True)
class Passages:
    """A passage of at least `min_words` words that is in several documents, or several times in
    one, is cut from all places but one. A document with less than `min_rest` bytes left is removed,
    unless it keeps a passage.

    - `min_words`: words of a passage; `min_rest`: bytes of a document that is left of it
    - `keep`: one place keeps the passage ("one"), or it is cut everywhere ("none")
    """

    min_words: int = 100
    min_rest: int = 20
    keep: Keep = "one"

    def __post_init__(self) -> None:
        if self.min_words < 2:
            raise ConfigError(f"min_words must be ≥ 2, got {self.min_words}")
        _check_rest(self.min_rest, self.keep)


@dataclass(frozen=True)
class Lines:
    """Sentences, lines or paragraphs in a row that are in several places, the same but for white
    space, are cut from all but one. Three sentences are C4's rule, one paragraph is dolma's.

    - `unit`: "sentence", "line" or "paragraph"
    - `span`: how many in a row
    - `min_bytes`: shorter spans stay
    - `min_rest`: a document with fewer bytes left is removed, unless others lost a span to it
    - `keep`: one place keeps the span ("one"), or it is cut everywhere ("none")
    """

    unit: Literal["sentence", "line", "paragraph"] = "line"
    span: int = 3
    min_bytes: int = 1
    min_rest: int = 20
    keep: Keep = "one"

    def __post_init__(self) -> None:
        units = ("sentence", "line", "paragraph")
        if self.unit not in units:
            raise ConfigError(f"unit must be one of {', '.join(units)}, got {self.unit!r}")
        if self.span < 1:
            raise ConfigError(f"span must be ≥ 1, got {self.span}")
        if self.min_bytes < 1:
            raise ConfigError(f"min_bytes must be ≥ 1, got {self.min_bytes}")
        _check_rest(self.min_rest, self.keep)


def _check_rest(min_rest: int, keep: str) -> None:
    if min_rest < 1:
        raise ConfigError(f"min_rest must be ≥ 1, got {min_rest}")
    if keep not in ("one", "none"):
        raise ConfigError(f"keep must be 'one' or 'none', got {keep!r}")


@dataclass(frozen=True)
class Deduplication:
    """Exact duplicates share their content but for white space; near-duplicates have at least
    `similarity` of their shingles in common (the Jaccard index, verified).

    - `near`: near-duplicates are removed, too
    - `similarity`: share of shingles that near-duplicates have in common
    - `keep`: which one stays: the longest, the best by the classifier ("quality"), or the one of
      the domain that comes first in `prefer` ("domain"); ties are settled by the documents' ids
    - `prefer`: names of domains, for keep=domain
    - `budget`: share of a domain's documents that may be removed before the build stops
    - `budgets`: those of single domains, by name
    - `against`: finished corpora whose documents count as kept
    - `passages`: text that documents share is cut from those that stay; null: it stays
    - `lines`: the same for lines, sentences or paragraphs
    - `url`: of documents with the same URL, the newest or the longest stays; null: all do
    """

    near: bool = True
    similarity: float = 0.8
    keep: Literal["longest", "quality", "domain"] = "longest"
    prefer: tuple[str, ...] = ()
    budget: float | None = 0.5
    budgets: dict[str, float] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    passages: Passages | None = None
    lines: Lines | None = None
    url: Literal["newest", "longest"] | None = None

    def __post_init__(self) -> None:
        if self.url not in (None, "newest", "longest"):
            raise ConfigError(f"url must be 'newest', 'longest' or None, got {self.url!r}")
        if not 0 < self.similarity <= 1:
            raise ConfigError(f"similarity must be > 0 and ≤ 1, got {self.similarity}")
        for budget in (self.budget, *self.budgets.values()):
            if budget is not None and not 0 <= budget <= 1:
                raise ConfigError(f"a budget must be a share from 0 to 1, got {budget}")
