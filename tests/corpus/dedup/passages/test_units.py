"""Words, sentences, lines and paragraphs as hashes, and where they are (PILE-12)."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.passages.units import unit_hashes, unit_spans
from barrow.corpus.dedup.settings import Unit
from barrow.corpus.kernels.scratch import Scratch

WHITE = bytes(range(0x21))


def units_of(unit: Unit, texts: list[str], *, before: bytes = b"") -> list[list[str]]:
    """The units of every text; also checks that equal contents, and only they, hash alike."""
    data = [text.encode() for text in texts]
    buffer = np.frombuffer(before + b"".join(data), np.uint8)
    offsets = np.cumsum([len(before), *map(len, data)], dtype=np.int64)
    hashes = unit_hashes(unit, buffer, offsets, Scratch())
    spans = unit_spans(unit, buffer, offsets, Scratch())
    assert hashes.offsets.tolist() == spans.offsets.tolist()
    assert len(hashes.hashes) == len(spans.starts) == spans.offsets[-1]
    pieces = [buffer[a:b].tobytes() for a, b in zip(spans.starts, spans.ends, strict=True)]
    contents = [b" ".join(piece.translate(None, b"\0").split()) for piece in pieces]
    if unit != "word" and not any(byte in b"".join(data) for byte in range(9)):
        assert len(set(contents)) == len(set(hashes.hashes.tolist()))
        assert len(set(zip(contents, hashes.hashes.tolist(), strict=True))) == len(set(contents))
    edges = spans.offsets.tolist()
    return [[piece.decode() for piece in pieces[a:b]] for a, b in pairwise(edges)]


def lines_of(text: str) -> list[str]:
    lines = [line.strip(WHITE).decode() for line in text.encode().split(b"\n")]
    return [line for line in lines if line]


def paragraphs_of(text: str) -> list[str]:
    groups = groupby(text.split("\n"), lambda line: bool(line.encode().strip(WHITE)))
    joined = ["\n".join(lines).encode() for black, lines in groups if black]
    return [paragraph.strip(WHITE).decode() for paragraph in joined]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ab \n\t\r\u00a0é", max_size=30), max_size=5), st.sampled_from([b"", b"x\n"])
)
def test_lines_and_paragraphs(texts: list[str], before: bytes) -> None:
    assert units_of("line", texts, before=before) == [lines_of(text) for text in texts]
    assert units_of("paragraph", texts, before=before) == [paragraphs_of(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One here. Two there!  Three?", ["One here.", "Two there!", "Three?"]),
        ("J. Smith came. Then e.g. Bob left", ["J. Smith came.", "Then e.g. Bob left"]),
        ("A line\nand another. End", ["A line", "and another.", "End"]),
        ('"Stop!" he said. (Yes.) No', ['"Stop!"', "he said.", "(Yes.)", "No"]),
        ("第一句。第二句！第三", ["第一句。", "第二句！", "第三"]),
        ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
        ("no end", ["no end"]),
        (" \n ", []),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert units_of("sentence", [text, "Another. One", text]) == [
        sentences,
        ["Another.", "One"],
        sentences,
    ]


@given(st.lists(st.text("a. \n。!é", max_size=30), max_size=4))
def test_sentences_are_all_of_the_text(texts: list[str]) -> None:
    for text, sentences in zip(texts, units_of("sentence", texts), strict=True):
        assert "".join("".join(sentences).split()) == "".join(text.split())


def test_words_are_those_of_near_duplicates() -> None:
    assert units_of("word", ["One-two, three", "", "中文"]) == [
        ["One", "two", "three"],
        [],
        ["中", "文"],
    ]
