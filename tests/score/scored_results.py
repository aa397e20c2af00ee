"""Small results, made of known numbers."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from barrow.score.card import Card, CorpusDigest, Window, corpus_hash
from barrow.score.models.model import ModelInfo
from barrow.score.result import Documents, Result, Row

DOMAINS = ("code", "prose")
KINDS = ("letters", "others")
TEXTS = [(DOMAINS[i % 3 > 0], f"text {i} " * (i + 1)) for i in range(12)]


def make_result(
    name: str,
    *,
    bits: list[float],
    texts: list[tuple[str, str]] = TEXTS,
    likelihood: str = "causal",
    window: Window | None = None,
    scope: str = "document",
) -> Result:
    """A result in which document i has ``bits[i]`` bits a byte; letters cost twice the others."""
    domains = tuple(dict.fromkeys(domain for domain, _ in texts))
    sizes = np.array([len(text) for _, text in texts], np.int64)
    nats = np.array(bits) * sizes * math.log(2)
    digests = [hashlib.sha256(text.encode()).digest() for _, text in texts]
    letters = np.array([sum(map(str.isalpha, text)) for _, text in texts], np.int64)
    kind_bytes = np.stack([letters, sizes - letters], axis=1)
    weight = kind_bytes * np.array([2.0, 1.0])
    kind_nats = nats[:, None] * weight / np.maximum(1, weight.sum(axis=1, keepdims=True))
    if likelihood == "compressed":
        kind_nats = np.full_like(kind_nats, np.nan)
    documents = Documents(
        domains=domains,
        kinds=KINDS,
        domain=np.array([domains.index(domain) for domain, _ in texts], np.int16),
        bytes=sizes,
        tokens=sizes,
        nats=nats,
        text=np.array([list(digest[:16]) for digest in digests], np.uint8),
        kind_bytes=kind_bytes,
        kind_nats=kind_nats,
    )
    digest = corpus_hash(
        (domain, digest) for (domain, _), digest in zip(texts, digests, strict=True)
    )
    ground = CorpusDigest("corpus", "test", len(texts), int(sizes.sum()), digest)
    return Result(
        model=ModelInfo(name, "custom", hashlib.sha256(name.encode()).hexdigest()),
        card=Card(ground, likelihood, window, scope),  # type: ignore[arg-type]
        domains=(),
        overall=_row(sizes, nats),
        documents=documents if scope == "document" else None,
    )


def _row(sizes: np.ndarray, nats: np.ndarray) -> Row:
    total, size = float(nats.sum()), int(sizes.sum())
    return Row(
        name="overall",
        documents=len(sizes),
        bytes=size,
        tokens=size,
        nats=total,
        bpb=total / (size * math.log(2)),
        low=None,
        high=None,
        tokens_per_byte=1.0,
        token_perplexity=None,
        byte_perplexity=None,
        seconds=0.0,
    )
