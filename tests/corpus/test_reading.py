from __future__ import annotations

from pathlib import Path

from barrow.corpus.reading import EXCERPT, Reader, excerpt


def test_an_extractor_has_a_version() -> None:
    reader = Reader(name="mail", version=3, read=lambda path: iter(()), patterns=("**/*",))
    assert reader.extractor == "mail/3"
    assert list(reader.read(Path("x"))) == []


def test_excerpts_can_always_be_written() -> None:
    assert excerpt(b"caf\xc3\xa9 \xff") == "café \\xff"
    assert excerpt("a\ud800") == "a\\ud800"
    assert len(excerpt(b"x" * 10_000)) == EXCERPT
