"""A recipe: which raw files become which domains of a corpus."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, Literal

from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.choice import Filters
from barrow.corpus.mix import Mixture, Splits
from barrow.errors import ConfigError


@dataclass(frozen=True)
class Domain:
    """One domain: how its raw files are read, and what is known about them.

    `name` is the documents' ``pile_set_name`` (if empty, they are records that have their own),
    `reader` the name of a reader, `paths` globs under
    the domain's folder (by default those of the reader), `options` arguments of the reader.
    `licence` holds for documents that do not state their own, `language` likewise; `retrieved` is
    the day the files were fetched. `weight` (percent of the corpus, by bytes) or `epochs` say how
    much of the domain a mixture takes. `filters` are those its documents go through; where records
    name their own domain, `filters_of` has others for some of them, by name.
    """

    name: str
    reader: str
    licence: str = "unknown"
    paths: tuple[str, ...] = ()
    weight: float | None = None
    epochs: float | None = None
    language: str | None = None
    retrieved: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    filters: Filters = field(default_factory=Filters)
    filters_of: dict[str, Filters] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value in (("weight", self.weight), ("epochs", self.epochs)):
            if value is not None and value < 0:
                raise ConfigError(f"{self.name}: {what} is not negative, unlike {value}")
        if self.retrieved is not None:
            try:
                datetime.date.fromisoformat(self.retrieved)
            except ValueError:
                raise ConfigError(
                    f"{self.name}: retrieved is a day such as 2024-12-31, not {self.retrieved!r}"
                ) from None


@dataclass(frozen=True)
class Decontamination:
    """Evaluation sets, as files; a document that has `min_ngrams` n-grams of them is rejected."""

    sets: tuple[str, ...]
    ngram: int = 13
    min_ngrams: int = 1

    def __post_init__(self) -> None:
        if not self.sets:
            raise ConfigError("decontamination needs at least one evaluation set")
        if min(self.ngram, self.min_ngrams) < 1:
            raise ConfigError("ngram and min_ngrams are at least 1")


@dataclass(frozen=True)
class Recipe:
    """A corpus, up to where its raw files lie and where it goes.

    `domains` maps a folder under the root to what is in it. A folder that is not there, or whose
    reader is not, ends the build (`missing` = "error") or is left out and recorded ("skip"). What
    is read goes through the domains' filters, then `decontamination` and `deduplication`, where
    they are set; `splits` are held out of the rest, and the `mixture` says how much of it is taken.
    All chance comes from `seed`. Shards have about `shard_size` bytes of JSON lines. A document
    that takes a reader more than `seconds_per_document` or `memory_per_document` bytes, or is
    longer than `max_text` bytes, is rejected.
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
                raise ConfigError(f"{domain.name!r} is given two weights or epochs, in two folders")
        for limit in ("shard_size", "seconds_per_document", "memory_per_document", "max_text"):
            if getattr(self, limit) <= 0:
                raise ConfigError(f"{limit} is more than 0, unlike {getattr(self, limit)}")
