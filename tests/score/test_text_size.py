from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from barrow import Document
from barrow.score import open_corpus
from barrow.score.scored_corpus import text_size


def test_what_a_manifest_counts(tmp_path: Path) -> None:
    domains = {"A": {"bytes": 3}, "B": {"bytes": 4}}
    (tmp_path / "manifest.json").write_text(json.dumps({"splits": {"test": {"domains": domains}}}))
    assert text_size(tmp_path, "test") == 7
    assert text_size(tmp_path, "validation") is None
    (tmp_path / "manifest.json").write_text("[]")
    assert text_size(tmp_path, "test") is None


def test_what_a_catalog_counts(write: Callable[..., Path]) -> None:
    """JSON lines: no less than their texts."""
    folder = write([Document("é" * 500)] * 9, "corpus", shard_size=60_000)
    size = sum(len(text.text) for text in open_corpus(folder))
    for split in (None, "train"):
        found = text_size(folder, split)
        assert found is not None
        assert size <= found < 1.2 * size


def test_a_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "a"}')
    assert text_size(tmp_path / "x.jsonl", None) is None
