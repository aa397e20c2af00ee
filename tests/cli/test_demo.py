from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import barrow as package
from barrow import Document


def few() -> list[Document]:
    return [Document("def f(): ...", {"pile_set_name": "Python Sources"}), Document("1 + 1")]


def test_the_demo_writes_verifies_and_prints(barrow: Callable, tmp_path: Path) -> None:
    out = tmp_path / "pocket"
    code, text, err = barrow("demo", out)
    assert (code, err) == (0, "")
    for word in ("Python Sources", "Python Topics", "Package Papers", "Arithmetic", "verified"):
        assert word in text
    assert package.archive.verify(out, deep=True).ok


def test_it_replaces_an_earlier_demo_and_nothing_else(
    barrow: Callable, tmp_path: Path, monkeypatch: object
) -> None:
    from barrow.recipes import pocket

    monkeypatch.setattr(pocket, "documents", few)  # type: ignore[attr-defined]
    out = tmp_path / "pocket"
    assert barrow("demo", out).code == 0
    assert barrow("demo", out).code == 0
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    code, _, err = barrow("demo", other)
    assert code == 1
    assert "is no archive" in err
    assert (other / "thesis.txt").exists()
