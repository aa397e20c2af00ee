from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from barrow import Document


def test_table(barrow: Callable, folder: Path, documents: list[Document]) -> None:
    code, out, err = barrow("corpus", "stats", folder)
    assert (code, err) == (0, "")
    total = sum(len(d.text.encode()) for d in documents)
    assert f"1,000  {total:,}" in out.replace("   ", "  ")
    for word in ("Ünïcode", "documents", "share", "100.00%", "compression ratio"):
        assert word in out


def test_json(barrow: Callable, folder: Path, documents: list[Document]) -> None:
    code, out, _ = barrow("corpus", "stats", folder, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["documents"] == 1000
    assert result["bytes"] == sum(len(d.text.encode()) for d in documents)
    assert {row["domain"] for row in result["domains"]} == {"A", "B", "Ünïcode"}
    assert "bad" not in result


def test_by_another_key(barrow: Callable, folder: Path) -> None:
    _, out, _ = barrow("corpus", "stats", folder, "--by", "number", "--json")
    assert len(json.loads(out)["domains"]) == 1000


def test_bad_input(barrow: Callable, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text":"a"}\nbad\n')
    code, _, err = barrow("corpus", "stats", path)
    assert code == 1
    assert "x.jsonl, frame 0, document 1: not JSON" in err
    code, out, err = barrow("corpus", "stats", path, "--on-bad", "count", "--json")
    assert code == 0
    assert json.loads(out)["bad"] == {"not-json": 1}
    code, _, err = barrow("corpus", "stats", path, "--on-bad", "count")
    assert (code, "1 × not-json" in err) == (0, True)


def test_names_are_shown_as_they_are(barrow: Callable, write: Callable) -> None:
    names = ["[/x]", "[red]roses", "\x1b[2Jclear"]
    path = write([Document("a", {"pile_set_name": name}) for name in names])
    code, out, _ = barrow("corpus", "stats", path)
    assert code == 0
    assert "[/x]" in out
    assert "[red]roses" in out
    assert "\x1b[2J" not in out
