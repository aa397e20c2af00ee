"""The score card: what was measured and how; results are comparable if their cards are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from barrow import config

Likelihood = Literal["causal", "pseudo", "compressed"]
Scope = Literal["document", "domain"]

VERSION = 1


@dataclass(frozen=True)
class CorpusDigest:
    """What was scored: results are comparable only on the same documents.

    `digest` is the sha256 over (domain, sha256 of the text) of every document, sorted: the order
    of documents does not matter, everything else does. `corpus` and `split` are names.
    """

    corpus: str
    split: str | None
    documents: int
    bytes: int
    digest: str
    unit: str = "UTF-8 bytes of the raw text"


@dataclass(frozen=True)
class Window:
    """The actual windows, in tokens, of the `Protocol` named `protocol`."""

    context: int
    stride: int
    prefix: Literal["begin", "end", "none"]
    prefix_in: Literal["every", "first"] = "every"
    protocol: str = "custom"

    @property
    def facts(self) -> tuple[int, int, str, str]:
        """All but the name. Without a prefix, its place is left out."""
        where = "none" if self.prefix == "none" else self.prefix_in
        return self.context, self.stride, self.prefix, where

    def __str__(self) -> str:
        stride = "disjoint" if self.stride == self.context else f"stride {self.stride:,}"
        where = "" if self.prefix == "none" else f" in {self.prefix_in} window"
        return f"context {self.context:,}, {stride}, prefix {self.prefix}{where}"


@dataclass(frozen=True)
class Card:
    """What was scored and how.

    `likelihood` is "causal" (each token given those before it), "pseudo" (each given all others) or
    "compressed" (the output size of a compressor). `window` is None for models that see the whole
    document so far. `scope` is what is seen at once: a document, or all documents of a domain, for
    a compressor of whole domains.
    """

    ground: CorpusDigest
    likelihood: Likelihood
    window: Window | None
    scope: Scope = "document"
    version: int = VERSION

    @property
    def hash(self) -> str:
        """12 hexadecimal digits of everything but names."""
        ground = self.ground
        facts = [
            [ground.documents, ground.bytes, ground.digest, ground.unit],
            self.likelihood,
            None if self.window is None else list(self.window.facts),
            self.scope,
            self.version,
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        name = self.ground.corpus + (f" {self.ground.split}" if self.ground.split else "")
        window = (
            "no windows"
            if self.window is None
            else f"protocol {self.window.protocol}: {self.window}"
        )
        seen = "" if self.scope == "document" else ", domains compressed whole"
        return (
            f"card {self.hash}: {name}, {self.ground.documents:,} documents, "
            f"{self.ground.bytes:,} bytes, {self.likelihood}{seen}, {window}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The card as JSON, with its hash."""
        return {"hash": self.hash, **config.to_dict(self)}


def card_from_dict(data: Any) -> Card:
    """The card of `as_dict`; its hash must match."""
    if not isinstance(data, dict):
        raise ValueError(f"a score card must be a JSON object, got {type(data).__name__}")
    card = config.from_dict(Card, {key: value for key, value in data.items() if key != "hash"})
    if data.get("hash", card.hash) != card.hash:
        raise ValueError(
            f"the score card has hash {data['hash']}, but its contents give {card.hash}: "
            "it was changed"
        )
    return card


def corpus_hash(documents: Iterable[tuple[str, bytes]]) -> str:
    """Of the domain and the text's sha256 of every document, in any order."""
    made = CorpusHash()
    for domain, sha256 in documents:
        made.add(domain, sha256)
    return made.hexdigest()


class CorpusHash:
    """`corpus_hash` of documents that come one by one: 64 bytes are kept of each."""

    def __init__(self) -> None:
        self._rows = bytearray()
        self._domains: dict[str, bytes] = {}

    def add(self, domain: str, sha256: bytes) -> None:
        """Take a document."""
        if domain not in self._domains:
            self._domains[domain] = hashlib.sha256(domain.encode()).digest()
        self._rows += self._domains[domain] + sha256

    def hexdigest(self) -> str:
        """The sha256 of the sorted rows of all."""
        words = np.frombuffer(bytes(self._rows), ">u8").reshape(-1, 8)
        # The last key is the primary one.
        rows = words[np.lexsort(words.T[::-1])]
        return hashlib.sha256(rows.tobytes()).hexdigest()


def comparable(a: Card, b: Card) -> str | None:
    """None where two results may be compared, else the reason why not.

    Results need the same documents and version of the card. Pseudo-likelihoods compare only
    with each other, and whole domains not with single documents. Two with windows need the same
    windows; one without (it sees the document so far) compares with all.
    """
    facts = [(g.documents, g.bytes, g.digest, g.unit) for g in (a.ground, b.ground)]
    if facts[0] != facts[1]:
        names = [f"{g.corpus} ({g.documents:,} documents)" for g in (a.ground, b.ground)]
        return f"other documents were scored: {names[0]} and {names[1]}"
    if a.version != b.version:
        return f"cards of version {a.version} and {b.version}"
    if (a.likelihood == "pseudo") != (b.likelihood == "pseudo"):
        return "one is a pseudo-likelihood (from both sides), the other a likelihood"
    if a.scope != b.scope:
        return "one compressed whole domains, the other saw each document alone"
    if a.window is not None and b.window is not None and a.window.facts != b.window.facts:
        return f"other windows: {a.window}; and {b.window}"
    return None
