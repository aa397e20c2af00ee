from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from barrow import Document
from barrow.errors import ScoreError
from barrow.score import ModelInfo, ScoredCorpus, TextScore
from barrow.score.card import corpus_hash
from barrow.score.models.model import Model
from barrow.score.part_file import Scored
from barrow.score.scored_table import ScoredTable
from barrow.score.scoring import joined

CORPUS = ScoredCorpus("pocket", "test", [])
KINDS = 7


class Named(Model):
    info = ModelInfo("x", "baseline", "id")

    def score(self, texts: Any) -> list[TextScore]:
        return []


def scored(number: int, domain: str, text: str, how: str = "bytes") -> Scored:
    size = len(text.encode())
    digest = hashlib.sha256(text.encode()).hexdigest()
    zeros = (0,) * KINDS
    return Scored(number, domain, digest, size, size, 2.0 * size, how, 0.5, zeros, zeros)


def table(done: list[Scored]) -> ScoredTable:
    made = ScoredTable()
    made.add(done)
    return made


def test_the_ground_is_made_of_domains_and_texts() -> None:
    documents = [Document("a", {"pile_set_name": "B"}), Document("é", {"pile_set_name": "A"})]
    done = [scored(i, str(d.domain), d.text) for i, d in enumerate(documents)]
    done[1] = replace(done[1], projection="offsets")
    result = joined(Named(), CORPUS, table(done))
    ground = result.card.ground
    assert (ground.corpus, ground.split, ground.documents, ground.bytes) == ("pocket", "test", 2, 3)
    assert ground.digest == corpus_hash(
        (str(d.domain), hashlib.sha256(d.text.encode()).digest()) for d in documents
    )
    assert result.settings["projection"] == {"bytes": 1, "offsets": 1}
    assert result.documents is not None
    assert result.documents.domains == ("A", "B")
    assert result.documents.domain.tolist() == [1, 0]
    assert result.documents.text[0].tobytes() == hashlib.sha256(b"a").digest()[:16]
    assert result.overall.seconds == 1.0


def test_too_many_domains() -> None:
    done = [scored(i, f"domain {i}", "a") for i in range(1 << 15)]
    with pytest.raises(ScoreError, match="too many domains for a result: 32,768"):
        joined(Named(), CORPUS, table(done))
