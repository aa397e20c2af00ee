"""Counts of characters, beside Python's own methods (PILE-8)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

PIECES = ["a", "Zebra ", "09", "...", ".", "..", "…", "#", "\n", "\r\n", "\u2028", "é", "Ж", "日本"]
PIECES += [
    "🙂",
    "٣",
    "½",
    "_-+{",
    "\x00\x7f",
    "\v",
    "\x1c",
    "\x85",
    "z" * 30,
    "A1. " * 9,
    "'\"",
    "Ⓐ",
]
texts = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def counts_of(text: str) -> list[int]:
    counts = Texts.of_strings(["x.", text, "..#"], [{}] * 3, Scratch()).statistics.characters
    return [int(count[1]) for count in counts]


def expected(text: str) -> list[int]:
    return [
        len(text),
        sum(map(str.isalpha, text)),
        sum(map(str.isupper, text)),
        sum(map(str.isdecimal, text)),
        sum(unicodedata.category(c)[0] in "PS" for c in text),
        text.count("#"),
        text.count("{"),
        text.count("...") + text.count("…"),
        text.count("\n"),
        any(c != "\n" and len(f"a{c}b".splitlines()) == 2 for c in text),
    ]


@given(texts)
def test_counts_are_those_of_python(text: str) -> None:
    assert counts_of(text) == expected(text)


@given(st.text(max_size=100))
def test_any_text(text: str) -> None:
    assert counts_of(text) == expected(text)


@pytest.mark.parametrize("text", ["#A9{.\n" * 5000, "é#A…" * 3000, "." * 10_001, "x" * 4081, ""])
def test_more_than_lanes_hold(text: str) -> None:
    assert counts_of(text) == expected(text)


@pytest.mark.parametrize("at", range(20))
def test_dots_across_the_edges_of_eight_bytes(at: int) -> None:
    text = "x" * at + "..." + "y" * 20
    assert counts_of(text) == expected(text)
    assert counts_of("é" + text) == expected("é" + text)
