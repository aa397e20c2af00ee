"""One space between words."""

from __future__ import annotations

import pytest

from barrow.corpus.one_spaced import one_spaced


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
