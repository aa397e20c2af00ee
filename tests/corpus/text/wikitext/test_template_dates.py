"""PILE-1: dates, as the documentation of the templates shows them."""

from __future__ import annotations

import calendar

import pytest

from barrow.corpus.text.wikitext.template_values import as_of, date, written_date
from barrow.corpus.text.wikitext.templates import Arguments


def arguments(name: str, *at: str, **named: str) -> Arguments:
    return Arguments(name, list(at), named, True)


@pytest.mark.parametrize("month", range(1, 13))
def test_months(month: int) -> None:
    name = calendar.month_name[month]
    for number in (f"{month}", f"{month:02d}", name):
        assert written_date(["1950", number, "2"], day_first=False) == f"{name} 2, 1950"
        assert written_date(["1950", number, "2"], day_first=True) == f"2 {name} 1950"
        assert written_date(["1950", number], day_first=False) == f"{name} 1950"


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([], ""),
        (["1950"], "1950"),
        ([" 1950 ", " 5 ", " 02 "], "May 2, 1950"),
        (["1950", "5", "10"], "May 10, 1950"),
        (["1950", "5", "00"], "May 1950"),
        (["1950", "5", ""], "May 1950"),
        (["1950", "", "2"], "1950"),
        (["", "5", "2"], "May 2"),
        (["1950", "0", "0"], "1950"),
        (["1950", "00"], "1950"),
        (["1950", "13"], "13 1950"),
        (["1950", "Spring"], "Spring 1950"),
        (["1950", "5", "2", "14", "30"], "May 2, 1950"),
        (["1950", "\u0665", "\u0662"], "May \u0662, 1950"),
        (["1950", "\u00b2"], "\u00b2 1950"),
        (["1" * 5000, "1" * 5000, "1" * 5000], f"{'1' * 5000} {'1' * 5000}, {'1' * 5000}"),
    ],
)
def test_written_date(parts: list[str], shown: str) -> None:
    assert written_date(parts, day_first=False) == shown


def test_a_day_without_a_year() -> None:
    assert written_date(["", "5", "2"], day_first=True) == "2 May"


def test_date() -> None:
    assert date(arguments("birth date", "1950", "1", "2")) == "January 2, 1950"
    assert date(arguments("death date and age", "2000", "3", "4", "1950", "1", "2")) == (
        "March 4, 2000"
    )
    for yes in ("y", "yes", "Yes", "Y", "1", "true"):
        assert date(arguments("start date", "1950", "1", "2", df=yes)) == "2 January 1950"
    for no in ("", "n", "no"):
        assert date(arguments("start date", "1950", "1", "2", df=no)) == "January 2, 1950"
    assert date(arguments("birth year and age", "1950")) == "1950"
    assert date(arguments("start date")) == date(arguments("start date", "")) == ""


def test_dates_in_words_are_shown_as_they_are() -> None:
    assert date(arguments("birth-date", "2 May 1950", "May 2, 1950")) == "2 May 1950"
    assert date(arguments("date", "1950-05-02")) == "1950-05-02"
    assert date(arguments("oldstyledate", "14 March", "1879", "2 March")) == "14 March 1879"
    assert date(arguments("oldstyledate", "14 March", "")) == "14 March"


def test_as_of() -> None:
    """Template:As of."""
    assert as_of(arguments("as of", "2010")) == "As of 2010"
    assert as_of(arguments("as of", "2010", "5")) == "As of May 2010"
    assert as_of(arguments("as of", "2010", "05", "02")) == "As of 2 May 2010"
    for us in ("US", "us"):
        assert as_of(arguments("as of", "2010", "5", "2", df=us)) == "As of May 2, 2010"
    assert as_of(arguments("as of", "2010", lc="y")) == "as of 2010"
    assert as_of(arguments("as of", "2010", since="y")) == "Since 2010"
    assert as_of(arguments("as of", "2010", since="y", lc="y")) == "since 2010"
    assert as_of(arguments("as of", "2010", "5", bare="y")) == "May 2010"
    assert as_of(arguments("as of", "2010", alt="in 2010", lc="y")) == "in 2010"
    assert as_of(arguments("as of", "2010", alt="")) == "As of 2010"
    assert as_of(arguments("as of")) == "As of"
