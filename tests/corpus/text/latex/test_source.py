from __future__ import annotations

from barrow.corpus.text.latex.definitions import Definitions
from barrow.corpus.text.latex.source import Source


def source(text: str) -> Source:
    return Source(text, {"f": "F"}.get, Definitions(), len(text))


def test_arguments() -> None:
    stream = source(r" {a{b}} [c{]}] \d x {open")
    assert stream.argument() == "a{b}"
    assert stream.option() == "c{]}"
    assert stream.option() is None
    assert [stream.argument() for _ in range(4)] == [r"\d", "x", "", "o"]


def test_tokens_come_from_macros_and_files() -> None:
    stream = source(r"\def\a{b}\a\input{f}c")
    values = []
    while token := stream.next():
        values.append(token[1])
    assert values == ["b", "F", "c"]
