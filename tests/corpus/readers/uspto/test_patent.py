"""What patents of all forms have in common (PILE-6)."""

from __future__ import annotations

import pytest

from barrow.corpus.readers.uspto.patent import Patent, iso_date, plain_number, sort_of


@pytest.mark.parametrize(
    ("number", "plain"),
    [
        ("07272630", "7272630"),
        ("20050004974", "20050004974"),
        ("D0435854", "D435854"),
        ("RE039967", "RE39967"),
        ("PP017123", "PP17123"),
        ("D. 271298", "D271298"),
        ("", ""),
        ("../../etc/passwd", "etcp"),
        ("1" * 500, "1" * 20),
    ],
)
def test_numbers(number: str, plain: str) -> None:
    assert plain_number(number) == plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("20070918", "2007-09-18"),
        ("19831100", ""),
        ("2007", ""),
        ("x" * 8, ""),
        ("２００７０９１８", ""),
    ],
)
def test_dates(value: str, expected: str) -> None:
    assert iso_date(value) == expected


def test_names_and_sorts() -> None:
    assert Patent(number="7272630", kind_code="B2", country="US").name == "US7272630B2"
    assert Patent(number="7272630").name == "US7272630"
    assert Patent(kind_code="B2").name == ""
    assert [sort_of(number) for number in ("D1", "PP2", "RE3", "4", "H5")] == [
        *("design", "plant", "reissue", "", ""),
    ]
