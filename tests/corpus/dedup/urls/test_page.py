"""The page that a URL names (PILE-12)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.dedup.urls.page import moment_of, page_of


@pytest.mark.parametrize(
    "url",
    [
        "example.org/A/b?q=1",
        "http://example.org/A/b?q=1",
        "https://example.org/A/b?q=1",
        "HTTPS://WWW.Example.ORG/A/b/?q=1",
        "http://www.example.org:80/A/b?q=1#top",
        "https://me:secret@example.org:443/A/b?q=1&utm_source=x&utm_medium=y",
        "https://example.org/A/b?fbclid=1&q=1&gclid=2&_ga=3&mc_cid=4",
        "https://example.org/A/b;jsessionid=F00?q=1",
        "//example.org/A/b?q=1&",
        "  https://example.org./A/b?q=1 ",
    ],
)
def test_what_does_not_choose_the_page(url: str) -> None:
    assert page_of(url) == "example.org/A/b?q=1"


def test_what_does() -> None:
    urls = [
        "https://example.org/",
        "https://example.com/",
        "https://sub.example.org/",
        "https://example.org:8080/",
        "https://example.org/a",
        "https://example.org/A",
        "https://example.org/a/b",
        "https://example.org/a?x=1",
        "https://example.org/a?x=2",
        "https://example.org/a?y=1&x=1",
        "https://example.org/a?ref=main",
        "https://example.org/#!/a",
        "https://example.org/#/b",
        "https://example.org/a//b",
        "http://münchen.de/",
        "https://example.org/a?utm=1",
    ]
    pages = [page_of(url) for url in urls]
    assert len(set(pages)) == len(urls)
    assert page_of("https://example.org/#!/a") == "example.org#!/a"
    assert page_of("http://münchen.de") == page_of("https://www.xn--mnchen-3ya.de/")


@pytest.mark.parametrize(
    "url",
    ["", " ", "/a/b", "mailto:me@example.org", "urn:isbn:123", "words", "http://", "http://[x"],
)
def test_what_names_no_page(url: str) -> None:
    assert page_of(url) == ""


@given(st.text(max_size=40))
def test_any_text_is_answered(text: str) -> None:
    assert isinstance(page_of(text), str)
    assert moment_of(text) >= 0


def test_dates_in_their_order() -> None:
    dates = [
        "1999",
        "2000-02",
        "2000-02-03",
        "2000-02-03T00:00:01",
        "2000-02-03T04:05:06Z",
        "2000-02-03T04:05:06.5-01:00",
        "2001-01",
        "2024-05-06T10:00:00+00:00",
    ]
    shuffled = random.Random(0).sample(dates, len(dates))
    assert sorted(shuffled, key=moment_of) == dates
    assert len({moment_of(date) for date in dates}) == len(dates)
    assert moment_of("2024-05-06T10:00:00+02:00") == moment_of("2024-05-06T08:00:00Z")
    nothing = (None, 5, "", "soon", "2024-13-01", "0001-01-01T00:00:00+14:00", "20")
    assert {moment_of(date) for date in nothing} == {0}
