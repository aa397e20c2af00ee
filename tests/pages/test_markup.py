from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from barrow.pages.escape import shown
from barrow.pages.markup import (
    Markup,
    count,
    element,
    folded,
    joined,
    markdown_table,
    name,
    section,
    sentence,
    share,
    size,
    table,
)


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


def test_tables() -> None:
    made = table(
        "Things",
        ("Name", "Number", "Why"),
        [("<a>", count(1_000), "x")],
        total=("All", count(1_000), ""),
        text=(0, 2),
        extra=(2,),
    )
    root = ElementTree.fromstring(made)
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    assert rows == [["Name", "Number", "Why"], ["<a>", "1,000", "x"], ["All", "1,000", ""]]
    assert [cell.get("scope") for cell in root.iter("th")] == ["col"] * 3 + ["row"] * 2
    assert [cell.get("class") for cell in root.iter("td")] == ["number", "text extra"] * 2
    assert root.find("table/tfoot") is not None
    # Whoever cannot use a pointer must be able to scroll it, and to hear what it is.
    assert (root.get("tabindex"), root.get("role")) == ("0", "region")
    assert root.get("aria-label") == "Things"
    with pytest.raises(ValueError, match="zip"):
        table("Things", ("a", "b"), [("1", "2", "3")])


def test_sections_and_folds() -> None:
    made = section("x", "Title & more", "text")
    assert made.startswith(
        '<section id="x" aria-labelledby="x-heading"><h2 id="x-heading">Title &amp; m'
    )
    assert folded("more", "text") == "<details><summary>more</summary>text</details>"
    assert folded("more", open_=True).startswith('<details open="">')


def test_a_table() -> None:
    text = markdown_table(
        ("name", "number", "why"), [("a", "1", "x"), ("b", "2", "y")], text=(0, 2)
    )
    assert text == "| name | number | why |\n| --- | --: | --- |\n| a | 1 | x |\n| b | 2 | y |"
    assert markdown_table(("name",), []) == "None."


def test_a_sentence_says_the_same() -> None:
    words = "Of <b>, `c`, [d](e), *f*, _g_ and h|i no document is left."
    html = MarkdownIt().render(sentence(words))
    assert html == f"<p>{words.replace('<b>', '&lt;b&gt;')}</p>\n"
