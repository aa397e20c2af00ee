"""Dates in bibliographies."""

from __future__ import annotations

import pytest

from barrow.corpus.text.dates import iso_date, month_number


@pytest.mark.parametrize(
    ("year", "month", "day", "expected"),
    [
        *(
            ("2012", "10", "5", "2012-10-05"),
            ("2012", "Oct", "", "2012-10"),
            ("2012", "", "5", "2012"),
        ),
        *(("2012", "2", "31", "2012-02"), ("2012", "13", "1", "2012"), ("12", "1", "1", "")),
        *(("٢٠١٢", "1", "1", ""), ("0000", "1", "1", ""), (" 2012 ", " october ", "x", "2012-10")),
    ],
)
def test_dates(year: str, month: str, day: str, expected: str) -> None:
    assert iso_date({"year": year, "month": month, "day": day}) == expected
    assert iso_date({}) == ""


def test_months() -> None:
    assert [month_number(name) for name in ("Jan", "december", "7", "07", "0", "Spring", "")] == [
        *(1, 12, 7, 7, 0, 0, 0),
    ]
