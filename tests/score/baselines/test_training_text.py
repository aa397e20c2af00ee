"""What a baseline is trained on is named by its files' contents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document
from barrow.errors import NotFound
from barrow.score.baselines.baselines import training_text


def test_a_digest_follows_the_contents(write: Callable[..., Path], tmp_path: Path) -> None:
    first = write([Document("a"), Document("b")], "first")
    same = write([Document("a"), Document("b")], "same")
    other = write([Document("a"), Document("c")], "other")
    found = [training_text(path) for path in (first, same, other)]
    assert found[0].digest == found[1].digest != found[2].digest
    assert found[0].name == str(first)
    assert [document.text for document in found[0].archive] == ["a", "b"]


def test_files_without_a_catalog_are_read_through(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"text": "a"}\n')
    before = training_text(file).digest
    assert training_text(file).digest == before
    file.write_text('{"text": "b"}\n')
    assert training_text(file).digest != before


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="none"):
        training_text(tmp_path / "none.jsonl")
