from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barrow import Document
from barrow.errors import ScoreError
from barrow.score import PROTOCOLS, read_documents, read_result, score
from barrow.score.result import documents_path, result_from_dict


@pytest.fixture
def written(tmp_path: Path, windowed: Callable[..., Any], few: list[Document]) -> Path:
    score(windowed(PROTOCOLS["barrow"]), few, out=tmp_path / "a")
    return tmp_path / "a" / "scores.json"


def test_the_form_that_others_read(written: Path) -> None:
    data = json.loads(written.read_text())
    assert list(data) == [
        *("format", "model", "card", "domains", "overall", "weighted", "contamination"),
        *("versions", "settings", "seconds"),
    ]
    assert list(data["overall"]) == [
        *("name", "documents", "bytes", "tokens", "nats", "bpb", "low", "high"),
        *("tokens_per_byte", "token_perplexity", "byte_perplexity", "seconds"),
    ]
    assert data["settings"]["projection"] == {"bytes": 13}
    assert {"barrow", "python", "jax"} <= set(data["versions"])
    assert data["card"]["hash"] == read_result(written).card.hash


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "expected the format 'barrow-score-1', got 'other'"),
        ({"model": None}, "was not written by `barrow score`"),
        ({"overall": {"name": "x"}}, "was not written by `barrow score`"),
    ],
)
def test_foreign_and_broken_files(written: Path, change: dict[str, Any], words: str) -> None:
    data = json.loads(written.read_text())
    with pytest.raises(ScoreError, match=words):
        result_from_dict({**data, **change})
    del data["card"]
    with pytest.raises(ScoreError, match="lacks 'card'"):
        result_from_dict(data)
    with pytest.raises(ScoreError, match="got None"):
        result_from_dict([1])
    written.write_text("{")
    with pytest.raises(ScoreError, match="is not JSON"):
        read_result(written)


def test_a_figure_that_was_changed_is_found_out(written: Path) -> None:
    data = json.loads(written.read_text())
    data["overall"]["bpb"] -= 0.1
    with pytest.raises(ScoreError, match="overall has .* bits per byte.*changed"):
        result_from_dict(data)


def test_documents_of_another_result_are_refused(written: Path, tmp_path: Path) -> None:
    result = read_result(written)
    assert len(read_documents(written, result)) == 13
    other = tmp_path / "scores.json"
    documents_path(written).rename(documents_path(other))
    data = json.loads(written.read_text())
    data["model"]["identity"] = "another"
    with pytest.raises(ScoreError, match="does not belong to"):
        read_documents(other, result_from_dict(data))
