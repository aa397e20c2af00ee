"""DEEPSPEED-4: the smallest model within a budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from barrow.compress import budget
from barrow.compress.budget import _fewest, parse_budget, within_budget
from barrow.compress.compressed import Measuring, compress
from barrow.compress.scheme import Scheme
from barrow.errors import ScoreError

FEW = Measuring(documents=3, rows=4, length=32, speeds=False)


def test_the_smallest_within_the_budget(folder: Path, corpus: Path, tmp_path: Path) -> None:
    """Between int4, which loses more, and int8, which is larger."""
    four = compress(folder, tmp_path / "4", Scheme("int4", "gptq"), corpus, measuring=FEW)
    eight = compress(folder, tmp_path / "8", Scheme("int8"), corpus, measuring=FEW)
    assert four.worst is not None and eight.worst is not None  # noqa: PT018
    assert four.worst[1] > eight.worst[1]
    limit = (four.worst[1] + max(eight.worst[1], 0)) / 2
    said: list[str] = []
    card = within_budget(folder, tmp_path / "b", limit, corpus, measuring=FEW, say=said.append)
    assert card.worst is not None
    assert card.worst[1] <= limit
    assert four.bytes_after < card.bytes_after <= eight.bytes_after
    assert "weights int4" in card.scheme
    assert "weights int8" in card.scheme
    assert len(said) >= 2


def test_nothing_fits(
    folder: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By chance a model of random weights gains from rounding: here each try is too bad.
    monkeypatch.setattr(budget, "_fewest", lambda worst, most, limit: most)
    with pytest.raises(ScoreError, match="no quantized model of .* loses at most 0.001 bits"):
        within_budget(folder, tmp_path / "b", 0.001, corpus, measuring=FEW)
    assert list(tmp_path.iterdir()) == []


def test_bisection_and_parsing() -> None:
    for fewest in range(9):
        assert _fewest(lambda n, k=fewest: 0.0 if n >= k else 1.0, 8, 0.5) == fewest
    assert parse_budget("max-domain-dbpb=0.01") == 0.01
    with pytest.raises(ValueError, match="--budget is max-domain-dbpb=0.01, got 'bits=1'"):
        parse_budget("bits=1")
    with pytest.raises(ValueError, match="must be bits per byte > 0, got 'x'"):
        parse_budget("max-domain-dbpb=x")
