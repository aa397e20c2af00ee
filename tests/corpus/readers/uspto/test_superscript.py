"""Raised numbers and marks in plain text (PILE-6)."""

from __future__ import annotations

import pytest

from barrow.corpus.readers.uspto.superscript import superscript


@pytest.mark.parametrize(
    ("base", "raised", "expected"),
    [
        ("10", "6", "^6"),
        ("10", "-3", "^-3"),
        ("10", "\u22123", "^\u22123"),
        ("cm", "2", "^2"),
        ("x", "1/2", "^1/2"),
        ("x", "0.5", "^0.5"),
        ("x", "n", "^n"),
        ("F", "n-1", "^(n-1)"),
        ("F", "(n-1)", "^(n-1)"),
        ("(a+b)", "2", "^2"),
        ("[x]", "2", "^2"),
        ("10", " 6 ", "^6 "),
        ("Ca", "2+", "2+"),
        ("46", "th", "th"),
        ("DuPont", "®", "®"),
        ("", "14", "14"),
        ("of ", "14", "14"),
        ("x", "", ""),
    ],
)
def test_what_is_raised(base: str, raised: str, expected: str) -> None:
    assert superscript(base, raised) == expected
