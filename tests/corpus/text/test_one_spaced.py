"""One space between words."""

from __future__ import annotations

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from barrow.corpus.text.whitespace import one_spaced, tidy


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


@given_any(st.text(st.sampled_from(" \n\t\x00\x1c\x85\xa0\u2028\ufeff\ud800ab.é—😀"), max_size=12))
def test_any_text(text: str) -> None:
    """As tidying and splitting make it, which is slower."""
    assert one_spaced(text) == " ".join(tidy(" ".join(text.split())).split())
