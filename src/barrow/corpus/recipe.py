"""A recipe: which raw files become which domains of a corpus."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Literal

from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.filter import Filter, Rewriter, Step
from barrow.corpus.mixture import Mixture, Splits
from barrow.corpus.readers.reader import Reader
from barrow.errors import ConfigError
from barrow.objects import Named


@dataclass(frozen=True)
class Domain:
    """One domain: how its raw files are read, and what is known about them.

    - `name`: the documents' ``pile_set_name``; if empty, they are records that have their own
    - `reader`: what reads its files
    - `licence`, `language`: of documents that do not state their own
    - `paths`: globs under the domain's folder; none: those of the reader
    - `weight`: share of the corpus by bytes, with mixture.by=weight
    - `epochs`: how often documents are taken, with mixture.by=epochs; 0.1 takes a tenth of them
    - `retrieved`: the day the files were fetched; null: that of each file's last change
    - `filters`: applied in order; the first that rejects a document gives the reason
    - `filters_of`: other filters by domain name, for records that name their domain
    """

    name: str
    reader: Reader
    licence: str = "LicenseRef-unknown"
    paths: tuple[str, ...] = ()
    weight: float | None = None
    epochs: float | None = None
    language: str | None = None
    retrieved: str | None = None
    filters: tuple[Step, ...] = ()
    filters_of: dict[str, tuple[Step, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.reader, Reader | Named):
            raise ConfigError(
                f"{self.name}: reader must be a Reader such as Warc(), got {self.reader!r}"
            )
        for step in (*self.filters, *(s for some in self.filters_of.values() for s in some)):
            if not isinstance(step, Filter | Rewriter | Named):
                raise ConfigError(
                    f"{self.name}: filters must be Filters or Rewriters, got {step!r}"
                )
        for what, value in (("weight", self.weight), ("epochs", self.epochs)):
            if value is not None and value < 0:
                raise ConfigError(f"{self.name}: {what} must be ≥ 0, got {value}")
        if self.retrieved is not None:
            try:
                datetime.date.fromisoformat(self.retrieved)
            except ValueError:
                raise ConfigError(
                    f"{self.name}: retrieved must be a day as 2024-12-31, got {self.retrieved!r}"
                ) from None


@dataclass(frozen=True)
class Decontamination:
    """Evaluation sets, as files; a document that has `min_ngrams` n-grams of them is rejected.

    - `sets`: files of evaluation data; `ngram`: words of an n-gram; `min_ngrams`: how many are too
      many
    """

    sets: tuple[str, ...]
    ngram: int = 13
    min_ngrams: int = 1

    def __post_init__(self) -> None:
        if not self.sets:
            raise ConfigError("decontamination needs at least one evaluation set")
        if min(self.ngram, self.min_ngrams) < 1:
            raise ConfigError("ngram and min_ngrams must be ≥ 1")


@dataclass(frozen=True)
class Recipe:
    """A corpus, without the paths of its raw files and its output.

    Documents pass the domains' filters, then `decontamination` and `deduplication`, where they are
    set; the rest is divided into `splits`, and the `mixture` sets how much of it is taken.

    - `name`: of the recipe
    - `domains`: folder under the root → what is in it
    - `deduplication`: which duplicates are removed; null: none
    - `decontamination`: evaluation sets that documents must not contain; null: none
    - `splits`: validation and test; `mixture`: how often documents are taken
    - `seed`: of everything random
    - `missing`: a domain without files ends the build ("error") or is left out ("skip")
    - `shard_size`: bytes of JSON lines in a shard, about
    - `seconds_per_document`: time limit of a reader for one document, which is rejected over it
    - `memory_per_document`: likewise its memory, in bytes
    - `max_text`: longest text, in UTF-8 bytes
    """

    name: str
    domains: dict[str, Domain]
    deduplication: Deduplication | None = None
    decontamination: Decontamination | None = None
    splits: Splits = field(default_factory=Splits)
    mixture: Mixture = field(default_factory=Mixture)
    seed: int = 42
    missing: Literal["error", "skip"] = "error"
    shard_size: int = 1 << 29
    seconds_per_document: float = 60.0
    memory_per_document: int = 400_000_000
    max_text: int = 1 << 26

    def __post_init__(self) -> None:
        if not self.domains:
            raise ConfigError(f"the recipe {self.name!r} has no domains")
        shares: dict[str, tuple[float | None, float | None]] = {}
        for domain in self.domains.values():
            share = (domain.weight, domain.epochs)
            if shares.setdefault(domain.name, share) != share:
                raise ConfigError(f"{domain.name!r} has different weights or epochs in two folders")
        for limit in ("shard_size", "seconds_per_document", "memory_per_document", "max_text"):
            if getattr(self, limit) <= 0:
                raise ConfigError(f"{limit} must be > 0, got {getattr(self, limit)}")
