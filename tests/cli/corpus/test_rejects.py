"""`barrow corpus rejects`; on a corpus that was built it is tried in test_build.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barrow import Document
from barrow.archive import Writer


def test_with_and_without_a_place_in_the_file(barrow: Callable, tmp_path: Path) -> None:
    meta = {"pile_set_name": "A", "reason": "odd", "cause": "it was odd", "source": "a/b.txt"}
    with Writer(tmp_path / "rejects") as writer:
        writer.add(Document("one", meta))
        writer.add(Document("two", {**meta, "member": "7"}))
        writer.add(Document("three", {**meta, "reason": "other"}))
    code, out, _ = barrow("corpus", "rejects", tmp_path, "--reason", "odd")
    assert code == 0
    assert "── odd · a/b.txt\nit was odd\none\n" in out
    assert "── odd · a/b.txt 7\nit was odd\ntwo\n" in out
    assert out.endswith("2  A: odd\n")


def test_a_folder_that_is_no_corpus(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("corpus", "rejects", tmp_path)
    assert code == 1
    assert "no rejects beside it" in err
