from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document


def test_json_lines(barrow: Callable, folder: Path, documents: list[Document]) -> None:
    code, out, err = barrow("corpus", "cat", folder)
    assert (code, err) == (0, "")
    rows = [json.loads(line) for line in out.split("\n") if line]
    assert [(r["text"], r["meta"]) for r in rows] == [(d.text, d.meta) for d in documents]


@pytest.mark.parametrize(
    ("given", "part"),
    [("10:12", slice(10, 12)), ("998:", slice(998, None)), (":2", slice(2)), ("5", slice(5, 6))],
)
def test_a_range(given: str, part: slice, barrow: Callable, folder: Path, documents: list) -> None:
    _, out, _ = barrow("corpus", "cat", folder, "-d", given)
    assert [json.loads(line)["meta"]["number"] for line in out.split("\n") if line] == [
        d.meta["number"] for d in documents[part]
    ]


def test_the_last_one(barrow: Callable, folder: Path) -> None:
    _, out, _ = barrow("corpus", "cat", folder, "--documents=-1")
    assert json.loads(out)["meta"]["number"] == 999


def test_no_range(barrow: Callable, folder: Path) -> None:
    code, _, err = barrow("corpus", "cat", folder, "-d", "some")
    assert code == 2
    assert "not a range of documents" in err


def test_texts(barrow: Callable, write: Callable) -> None:
    assert barrow("corpus", "cat", write([Document("é"), Document("b")]), "--text").out == "é\nb\n"


def test_rejects(barrow: Callable, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('bad\n{"text":"a"}\n')
    rejects = tmp_path / "rejects.jsonl"
    code, out, _ = barrow("corpus", "cat", path, "--on-bad", "count", "--rejects", rejects)
    assert (code, json.loads(out)["text"]) == (0, "a")
    assert json.loads(rejects.read_text())["raw"] == "bad"
