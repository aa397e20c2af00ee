"""Superscripts and subscripts."""

from __future__ import annotations

import pytest

from barrow.corpus.text.jats.scripts import citation, subscript, superscript


@pytest.mark.parametrize(
    ("base", "text", "expected"),
    [
        *(("10", "6", "^6"), ("10", "−6", "^−6"), ("Ca", "2+", "^2+"), ("Na", "+", "+")),
        *(("1", "st", "st"), ("x", "th", "^th"), ("", "14", "14"), ("of ", "14", "14")),
        *(("p", "a b", "^(a b)"), ("Name", "®", "®"), ("x", "", "")),
    ],
)
def test_superscripts(base: str, text: str, expected: str) -> None:
    assert superscript(base, text) == expected


@pytest.mark.parametrize(
    ("base", "text", "expected"),
    [
        *(("H", "2", "2"), ("x", "i", "_i"), ("10", "2", "_2"), ("k", "on off", "_(on off)")),
        *((")", "3", "3"), ("", "a", "a"), ("x", "", "")),
    ],
)
def test_subscripts(base: str, text: str, expected: str) -> None:
    assert subscript(base, text) == expected


@pytest.mark.parametrize(
    ("base", "text", "expected"),
    [
        *(("risk", "3", " [3]"), ("risk ", "3", "[3]"), ("risk [1]", ",", ",")),
        *(("risk [1],", "2", "[2]"), ("", "2", "[2]")),
    ],
)
def test_citations(base: str, text: str, expected: str) -> None:
    assert citation(base, text) == expected
