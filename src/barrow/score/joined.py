"""From scored documents to a result."""

from __future__ import annotations

from barrow.errors import ScoreError
from barrow.score.card import Card, Ground
from barrow.score.model import Model
from barrow.score.result import Result
from barrow.score.scored_corpus import ScoredCorpus
from barrow.score.scored_table import ScoredTable
from barrow.score.summary import RESAMPLES, SEED, rows_of
from barrow.score.versions import versions


def joined(model: Model, corpus: ScoredCorpus, done: ScoredTable) -> Result:
    """The result of a model on all the documents of a corpus, in their order."""
    if not done.num_bytes:
        what = f"{len(done)} documents, all of them empty" if len(done) else "no documents"
        raise ScoreError(f"{corpus.name} has {what}: there are no bytes to divide by")
    documents, seconds = done.documents()
    ground = Ground(corpus.name, corpus.split, len(done), done.num_bytes, done.digest)
    rows, overall = rows_of(documents, seconds)
    return Result(
        model=model.info,
        card=Card(ground, model.likelihood, model.window, model.scope),
        domains=rows,
        overall=overall,
        versions=versions(),
        settings={
            "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
            "projection": done.projections,
        },
        documents=documents,
    )
