"""One space between words."""

from __future__ import annotations

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from barrow.corpus.one_spaced import general_one_spaced, one_spaced


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a b", "a b"),
        ("  a\n b\u00a0\u2003c\t", "a b c"),
        ("a\x00b\x07\ufeff", "ab"),
        ("a\x85b", "a b"),
        ("naïve\u200b \ue000", "naïve\u200b \ue000"),
        ("", ""),
    ],
)
def test_one_spaced(given: str, expected: str) -> None:
    assert one_spaced(given) == expected


def test_the_compiled_way_gives_the_same() -> None:
    for code in (*range(0x3100), *range(0xD7F0, 0xE010), *range(0xFE00, 0x10010), 0x1F600):
        for text in (chr(code), f"a{chr(code)}b", f"a {chr(code)} b", f" é{chr(code)}"):
            assert one_spaced(text) == general_one_spaced(text)


@given_any(st.text(st.sampled_from(" \n\t\x00\x1c\x85\xa0\u2028\ufeff\ud800ab.é—😀"), max_size=12))
def test_any_text_the_compiled_way(text: str) -> None:
    assert one_spaced(text) == general_one_spaced(text)
