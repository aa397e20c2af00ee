from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barrow import Document


def test_words_are_counted(barrow: Callable, write: Callable, tmp_path: Path) -> None:
    path = write([Document("One two, two."), Document("Two trees: one")])
    code, out, _ = barrow("corpus", "unigrams", path, "--out", tmp_path / "t.tsv", "--min-count", 2)
    assert (code, "2 words" in out) == (0, True)
    assert (tmp_path / "t.tsv").read_text() == "two\t3\none\t2\n"
