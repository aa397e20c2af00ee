from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from barrow import Document


def test_the_first_documents(barrow: Callable, shard: Path, documents: list[Document]) -> None:
    code, out, _ = barrow("corpus", "head", shard, "-n", 3)
    assert code == 0
    assert out.count("── document") == 3
    assert '"number":2' in out
    code, out, _ = barrow("corpus", "head", shard, "-n", 2, "--json")
    assert [json.loads(line)["text"] for line in out.split("\n")[:-1]] == [
        d.text for d in documents[:2]
    ]
    assert barrow("corpus", "head", shard, "-n", 0).out == ""


def test_long_texts_are_cut(barrow: Callable, write: Callable) -> None:
    path = write([Document("word " * 1000)])
    assert "…" in barrow("corpus", "head", path).out
    assert len(barrow("corpus", "head", path, "--width", 0).out) > 5000


def test_control_characters_do_not_reach_the_terminal(barrow: Callable, write: Callable) -> None:
    path = write([Document("red \x1b[31m alert \x07", {"k": "\x1b[2J"})])
    assert "\x1b[31m" not in barrow("corpus", "head", path).out
    assert "\x1b[2J" not in barrow("corpus", "head", path).out
