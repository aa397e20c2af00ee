"""From scored documents to a result."""

from __future__ import annotations

import numpy as np

from barrow.errors import ScoreError
from barrow.score.card import Card, Ground, ground_digest
from barrow.score.kinds import KINDS
from barrow.score.model import Model
from barrow.score.part_file import Scored
from barrow.score.result import Documents, Result
from barrow.score.scored_corpus import ScoredCorpus
from barrow.score.summary import RESAMPLES, SEED, rows_of
from barrow.score.versions import versions


def joined(model: Model, corpus: ScoredCorpus, done: list[Scored]) -> Result:
    """The result of a model on all the documents of a corpus, in their order."""
    if not sum(scored.bytes for scored in done):
        what = f"{len(done)} documents, all of them empty" if done else "no documents"
        raise ScoreError(f"{corpus.name} has {what}: there are no bytes to divide by")
    documents = _documents(done)
    ground = Ground(
        corpus.name,
        corpus.split,
        len(done),
        int(documents.bytes.sum()),
        ground_digest((scored.domain, bytes.fromhex(scored.sha256)) for scored in done),
    )
    rows, overall = rows_of(documents, np.array([scored.seconds for scored in done]))
    laid = [scored.projection for scored in done]
    return Result(
        model=model.info,
        card=Card(ground, model.likelihood, model.window, model.scope),
        domains=rows,
        overall=overall,
        versions=versions(),
        settings={
            "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
            "projection": {how: laid.count(how) for how in sorted(set(laid))},
        },
        documents=documents,
    )


def _documents(done: list[Scored]) -> Documents:
    domains = tuple(sorted({scored.domain for scored in done}))
    if len(domains) > np.iinfo(np.int16).max:
        raise ScoreError(f"{len(domains):,} domains are more than a result holds")
    number = {name: i for i, name in enumerate(domains)}
    hashes = b"".join(bytes.fromhex(scored.sha256)[:16] for scored in done)
    return Documents(
        domains=domains,
        kinds=tuple(KINDS),
        domain=np.array([number[scored.domain] for scored in done], np.int16),
        bytes=np.array([scored.bytes for scored in done], np.int64),
        tokens=np.array([scored.tokens for scored in done], np.int64),
        nats=np.array([scored.nats for scored in done], np.float64),
        text=np.frombuffer(hashes, np.uint8).reshape(-1, 16),
        kind_bytes=np.array([scored.kind_bytes for scored in done], np.int64),
        kind_nats=np.array([scored.kind_nats for scored in done], np.float64),
    )
