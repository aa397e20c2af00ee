from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import barrow as package


def test_the_demo_builds_verifies_and_prints(barrow: Callable, tmp_path: Path) -> None:
    out = tmp_path / "pocket"
    code, text, err = barrow("demo", out)
    assert (code, err) == (0, "")
    for word in ("Python Sources", "Python Topics", "Package Papers", "Arithmetic", "verified"):
        assert word in text
    assert package.archive.verify(out, deep=True).ok
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


def test_other_folders_are_left_alone(barrow: Callable, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    code, _, err = barrow("demo", other)
    assert code == 1
    assert "no build" in err
    assert (other / "thesis.txt").exists()
