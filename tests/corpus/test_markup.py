from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.markup import (
    Markup,
    count,
    element,
    folded,
    joined,
    name,
    section,
    share,
    size,
    table,
)
from barrow.corpus.shown_text import shown


def test_elements() -> None:
    assert element("p", "a < b", class_="x", aria_label='"q"', id=None) == (
        '<p class="x" aria-label="&quot;q&quot;">a &lt; b</p>'
    )
    assert element("meta", charset="utf-8") == '<meta charset="utf-8"/>'
    assert element("p", element("b", "x"), "<i>") == "<p><b>x</b>&lt;i&gt;</p>"
    assert isinstance(joined(["a", Markup("<b></b>")]), Markup)
    with pytest.raises(AssertionError):
        element("br", "x")


@given(st.text(st.characters(exclude_categories=())))
def test_text_stays_text(text: str) -> None:
    made = element("p", text, title=text)
    read = ElementTree.fromstring(made)
    assert (read.text or "") == shown(text)
    # XML gives blanks for line ends in attributes, and so this is said of all but them.
    assert read.attrib["title"] == shown(text).replace("\n", " ").replace("\t", " ")
    assert len(read) == 0


def test_numbers_keep_their_exact_value() -> None:
    assert count(1_234) == '<data value="1234">1,234</data>'
    assert size(12_345) == '<data value="12345" title="12,345 bytes">12.3 kB</data>'
    assert ">4.1%<" in share(41, 1_000)


def test_names_are_short_and_their_direction_stays_inside() -> None:
    assert name("a\nb") == "<bdi>a b</bdi>"
    assert len(name("W" * 10_000)) < 250


def test_tables(read_page: Callable) -> None:
    made = table(
        "Things",
        ("Name", "Number", "Why"),
        [("<a>", count(1_000), "x")],
        total=("All", count(1_000), ""),
        text=(0, 2),
        extra=(2,),
    )
    page = read_page(made)
    assert page.tables["Things"] == [
        ["Name", "Number", "Why"],
        ["<a>", "1000", "x"],
        ["All", "1000", ""],
    ]
    assert ("th", "scope", "col") in page.attributes
    assert ("th", "scope", "row") in page.attributes
    assert ("td", "class", "text extra") in page.attributes
    assert page.tags["tfoot"] == 1
    # Whoever cannot use a pointer must be able to scroll it, and to hear what it is.
    assert {
        ("div", "tabindex", "0"),
        ("div", "role", "region"),
        ("div", "aria-label", "Things"),
    } <= set(page.attributes)
    with pytest.raises(ValueError, match="zip"):
        table("Things", ("a", "b"), [("1", "2", "3")])


def test_sections_and_folds() -> None:
    made = section("x", "Title & more", "text")
    assert made.startswith(
        '<section id="x" aria-labelledby="x-heading"><h2 id="x-heading">Title &amp; m'
    )
    assert folded("more", "text") == "<details><summary>more</summary>text</details>"
    assert folded("more", open_=True).startswith('<details open="">')
