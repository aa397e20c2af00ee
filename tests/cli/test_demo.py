from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import barrow as package
from barrow.recipes import pocket


def test_the_demo_builds_verifies_and_prints(barrow: Callable, tmp_path: Path) -> None:
    out = tmp_path / "pocket"
    code, text, err = barrow("demo", out)
    assert (code, err) == (0, "")
    for word in ("Python Sources", "Python Topics", "Package Papers", "Arithmetic", "verified"):
        assert word in text
    assert package.archive.verify(out, deep=True).ok
    held_out = Counter(d.meta["pile_set_name"] for d in package.archive.open(out / "test"))
    assert set(held_out) == {domain.name for domain in pocket.recipe().domains.values()}
    assert min(held_out.values()) >= 2
    store = package.tokens.open_store(tmp_path / "pocket-tokens")
    assert store.vocab_size == 4096
    assert store.num_documents == len(package.archive.open(out))
    tokenizer = package.tokens.load(tmp_path / "pocket-tokenizer")
    first = store.document(0)
    ids = store.read(store.domain_place(first.domain), first.start, first.stop)
    text = package.archive.open(out)[first.archive_number].text
    assert tokenizer.decode(ids[1:]) == text
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.zst")}
    assert barrow("demo", out).code == 0
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("*.zst")} == before


def test_a_domain_whose_library_is_missing_is_named(
    barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def prepare(root: Path, *, left_out: object) -> None:
        asked.append(left_out)
        raise FileExistsError("enough")

    monkeypatch.setattr(pocket, "missing_extras", lambda: {"printed_papers": "pdf"})
    monkeypatch.setattr(pocket, "prepare", prepare)
    code, text, _ = barrow("demo", tmp_path / "pocket")
    assert code == 1
    assert "without printed_papers: its reader needs pip install 'barrow[pdf]'" in text
    assert asked == [{"printed_papers": "pdf"}]


def test_other_folders_are_left_alone(
    barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pocket, "prepare", lambda root, **_: root.mkdir())
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    code, _, err = barrow("demo", other)
    assert code == 1
    assert "no build" in err
    assert (other / "thesis.txt").exists()
