"""Score models that see all the documents of a domain at once: one figure per domain."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from barrow.errors import ScoreError
from barrow.score.card import Card, CorpusDigest, CorpusHash
from barrow.score.models.model import DomainModel, DomainScorer
from barrow.score.result import Result, versions
from barrow.score.scored_corpus import ScoredCorpus
from barrow.score.summary import row_of_totals


def score_domains(
    model: DomainModel,
    corpus: ScoredCorpus,
    *,
    settings: Mapping[str, Any] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Result:
    """The figures of each domain and their sum; none per document, and no intervals."""
    began = time.perf_counter()
    scorers: dict[str, DomainScorer] = {}
    documents: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    digest = CorpusHash()
    spent: dict[str, float] = {}
    for text in corpus:
        at = time.perf_counter()
        if text.domain not in scorers:
            scorers[text.domain], spent[text.domain] = model.begin(), 0.0
        scorers[text.domain].add(text.text)
        documents[text.domain] += 1
        sizes[text.domain] += len(text.text)
        digest.add(text.domain, hashlib.sha256(text.text).digest())
        spent[text.domain] += time.perf_counter() - at
        if on_progress is not None:
            on_progress(len(text.text))
    total = sizes.total()
    if not total:
        raise ScoreError(f"{corpus.name} has no text")
    rows = []
    for name in sorted(scorers):
        at = time.perf_counter()
        nats = scorers[name].nats()
        if not math.isfinite(nats):
            raise ScoreError(f"{model.info.name} gives {nats} nats for {name}")
        rows.append(
            row_of_totals(
                name,
                documents=documents[name],
                num_bytes=sizes[name],
                tokens=0,
                nats=nats,
                seconds=spent[name] + time.perf_counter() - at,
            )
        )
    overall = row_of_totals(
        "overall",
        documents=documents.total(),
        num_bytes=total,
        tokens=0,
        nats=math.fsum(row.nats for row in rows),
        seconds=math.fsum(row.seconds for row in rows),
    )
    ground = CorpusDigest(corpus.name, corpus.split, documents.total(), total, digest.hexdigest())
    return Result(
        model=model.info,
        card=Card(ground, model.likelihood, model.window, model.scope),
        domains=tuple(rows),
        overall=overall,
        versions=versions(),
        settings=dict(settings or {}),
        seconds=time.perf_counter() - began,
    )
