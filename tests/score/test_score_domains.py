from __future__ import annotations

import math
from pathlib import Path

import pytest

from barrow import Document
from barrow.errors import ScoreError
from barrow.score import DomainModel, ModelInfo, read_result, score
from barrow.score.models.model import DomainScorer


class Length(DomainScorer):
    """A nat for every document after the first, and one for every byte."""

    def __init__(self, factor: float) -> None:
        self._nats = -1.0
        self._factor = factor

    def add(self, text: bytes) -> None:
        self._nats += 1 + len(text)

    def nats(self) -> float:
        return self._factor * self._nats


class Whole(DomainModel):
    info = ModelInfo("whole", "compressor", "w" * 64)

    def __init__(self, factor: float = 1.0) -> None:
        self._factor = factor

    def begin(self) -> DomainScorer:
        return Length(self._factor)


def test_one_figure_for_a_domain(few: list[Document], tmp_path: Path) -> None:
    result = score(Whole(), few, out=tmp_path / "x")
    assert result is not None
    for row in result.domains:
        sizes = [len(d.text.encode()) for d in few if d.domain == row.name]
        assert (row.documents, row.bytes) == (len(sizes), sum(sizes))
        assert row.nats == len(sizes) - 1 + sum(sizes)
        assert (row.low, row.high, row.token_perplexity) == (None, None, None)
    assert result.overall.nats == math.fsum(row.nats for row in result.domains)
    assert (result.card.scope, result.documents) == ("domain", None)
    assert read_result(tmp_path / "x").card == result.card
    assert not (tmp_path / "x" / "documents.safetensors").exists()


def test_bad_ones() -> None:
    with pytest.raises(ScoreError, match="has no text"):
        score(Whole(), [Document("")])
    with pytest.raises(ScoreError, match="whole gives nan nats for A"):
        score(Whole(math.nan), [Document("a", {"pile_set_name": "A"})])
