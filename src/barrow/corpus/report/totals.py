"""The totals of a manifest, and the flow of every domain's documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Key = TypeVar("Key", str, int)

NOT_STATED = "not stated"
READ, FILTER, DEDUPLICATE, MIX = "read", "filter", "deduplicate", "mix"
STEPS = (READ, FILTER, DEDUPLICATE, MIX)


@dataclass(frozen=True)
class Amount:
    """A number of documents, and the UTF-8 bytes of their texts."""

    documents: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.documents + other.documents, self.bytes + other.bytes)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.documents - other.documents, self.bytes - other.bytes)


@dataclass(frozen=True)
class Step:
    """A stage: documents that came, documents that stayed, and what each reason cost.

    What is dropped while reading is not yet a document: a post, a part of a mail, a whole file.
    """

    name: str
    came: int
    stayed: int
    rejects: dict[str, int]


@dataclass(frozen=True)
class DomainSurvey:
    """One domain: raw files, the way through the stages, and what was written.

    `found` is everything that readers saw: documents and rejects. `drawn` documents are taken by
    the mixture, or in validation or test; those of `written` are counted as often as written.
    """

    name: str
    files: int
    unread_files: int
    unread_examples: tuple[str, ...]
    extractors: tuple[str, ...]
    read: Amount
    filtered: Amount
    deduplicated: Amount
    drawn: int
    written: dict[str, Amount]
    steps: tuple[Step, ...]
    epochs: float
    changed: int
    found_inside: dict[str, int]
    matches: dict[str, int]
    licences: dict[str, Amount]
    languages: dict[str, Amount]
    lengths: dict[int, Amount]

    @property
    def found(self) -> int:
        return self.steps[0].came

    @property
    def total(self) -> Amount:
        """What was written, all splits together."""
        return sum(self.written.values(), Amount())


@dataclass(frozen=True)
class Survey:
    """A corpus: its domains, the largest first, and sums over them."""

    domains: tuple[DomainSurvey, ...]
    splits: dict[str, Amount]
    shards: dict[str, tuple[Mapping[str, Any], ...]]
    missing: dict[str, str]

    @property
    def total(self) -> Amount:
        return sum(self.splits.values(), Amount())

    @property
    def steps(self) -> tuple[Step, ...]:
        """All domains together."""
        return tuple(
            Step(
                name,
                sum(domain.steps[k].came for domain in self.domains),
                sum(domain.steps[k].stayed for domain in self.domains),
                add_counts(domain.steps[k].rejects for domain in self.domains),
            )
            for k, name in enumerate(STEPS)
        )

    @property
    def licences(self) -> dict[str, Amount]:
        return add_amounts(domain.licences for domain in self.domains)

    @property
    def languages(self) -> dict[str, Amount]:
        return add_amounts(domain.languages for domain in self.domains)

    @property
    def lengths(self) -> dict[int, Amount]:
        """By the number of binary digits of a text's size in bytes, from the shortest."""
        return dict(sorted(add_amounts(domain.lengths for domain in self.domains).items()))


def survey(manifest: Mapping[str, Any]) -> Survey:
    """The survey of a manifest."""
    splits = manifest["splits"]
    names = dict.fromkeys(
        [
            *(entry["name"] for entry in manifest["reading"].values()),
            *manifest["stages"],
            *(name for split in splits.values() for name in split["domains"]),
        ]
    )
    domains = [_domain(name, manifest) for name in names]
    return Survey(
        tuple(sorted(domains, key=lambda d: (-d.total.bytes, -d.read.bytes, d.name))),
        {
            name: sum((_amount(entry) for entry in split["domains"].values()), Amount())
            for name, split in splits.items()
        },
        {name: tuple(split["shards"]) for name, split in splits.items()},
        dict(manifest["missing"]),
    )


def _domain(name: str, manifest: Mapping[str, Any]) -> DomainSurvey:
    reading = [entry for entry in manifest["reading"].values() if entry["name"] == name]
    stages = manifest["stages"].get(name)
    read = (
        sum((_amount(entry) for entry in reading), Amount()) if reading else _amount(stages or {})
    )
    filtered = _amount(stages["filter"]) if stages else read
    deduplicated = _amount(stages["deduplicate"]) if stages else filtered
    rejects = {
        READ: add_counts(entry["rejects"] for entry in reading),
        **{step: _largest_first(stages[step]["rejects"] if stages else {}) for step in STEPS[1:]},
    }
    drawn = deduplicated.documents - sum(rejects[MIX].values())
    stayed = (read.documents, filtered.documents, deduplicated.documents, drawn)
    came = (read.documents + sum(rejects[READ].values()), *stayed[:-1])
    written = {
        split: entry["domains"][name]
        for split, entry in manifest["splits"].items()
        if name in entry["domains"]
    }
    lengths = add_amounts(_amounts(entry["lengths"]) for entry in written.values())
    return DomainSurvey(
        name=name,
        files=sum(entry["files"] for entry in reading),
        unread_files=sum(entry["unread_files"] for entry in reading),
        unread_examples=tuple(e for entry in reading for e in entry["unread_examples"]),
        extractors=tuple(dict.fromkeys(entry["extractor"] for entry in reading)),
        read=read,
        filtered=filtered,
        deduplicated=deduplicated,
        drawn=drawn,
        written={split: _amount(entry) for split, entry in written.items()},
        steps=tuple(
            Step(step, before, after, rejects[step])
            for step, before, after in zip(STEPS, came, stayed, strict=True)
        ),
        epochs=stages["mix"]["epochs"] if stages else 0.0,
        changed=stages["filter"]["changed"] if stages else 0,
        found_inside=_largest_first(stages["filter"]["found"] if stages else {}),
        matches=_largest_first(stages["filter"]["matches"] if stages else {}),
        licences=add_amounts(_amounts(entry["licences"]) for entry in written.values()),
        languages=add_amounts(_amounts(entry["languages"]) for entry in written.values()),
        lengths={int(bits): amount for bits, amount in lengths.items()},
    )


def _amount(entry: Mapping[str, Any]) -> Amount:
    return Amount(entry.get("documents", 0), entry.get("bytes", 0))


def _amounts(entry: Mapping[str, Any]) -> dict[str, Amount]:
    # Statistics have "None" where a document states nothing.
    return {
        NOT_STATED if value in ("None", "") else value: _amount(counts)
        for value, counts in entry.items()
    }


def add_amounts(parts: Iterable[Mapping[Key, Amount]]) -> dict[Key, Amount]:
    """Sums by key, the most bytes first."""
    total: dict[Key, Amount] = {}
    for part in parts:
        for key, amount in part.items():
            total[key] = total.get(key, Amount()) + amount
    return dict(sorted(total.items(), key=lambda item: (-item[1].bytes, item[0])))


def add_counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sums by name, the largest first."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return _largest_first(total)


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
