from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.html.printed import printed_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        # As Standard Ebooks, the Caselaw Access Project, Fastcase and others mark them.
        ('word<a href="e.xhtml#n2" epub:type="noteref">2</a> on', "word[2] on"),
        ('word.<a class="footnotemark" href="#f1">†</a>', "word.[†]"),
        ('word<SUP><A HREF="#fr1" NAME="fn1">1.</A></SUP>', "word[1]"),
        ('word<a href="#fn1"><sup>[1]</sup></a>', "word[1]"),
        ("word<footnotemark>3</footnotemark>", "word[3]"),
        ("The end.<sup>12</sup> More", "The end.[12] More"),
        ("<i>Id.</i><sup>4</sup>", "Id.[4]"),
        ("10<sup>6</sup>, 5 m<sup>2</sup>, the 2<sup>nd</sup>", "10^6, 5 m2, the 2nd"),
        ('<a href="x.html">12</a> men', "12 men"),
    ],
)
def test_marks_of_notes(markup: str, text: str) -> None:
    assert printed_text(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('<aside class="footnote"><a href="#r">1</a>\n <p>Text 4</p></aside>', "[1] Text 4"),
        ('<footnote label="1"><p id="x"> 1 The text</p><p>More</p></footnote>',
         "[1] The text\n\nMore"),
        ('<footnote label="1"><p>17 men</p></footnote>', "[1] 17 men"),
        ('<aside epub:type="footnote" id="a"><p>* A note.</p></aside><p>x', "* A note.\n\nx"),
        ('<div class="footnote"><a class="footnote" href="#a">2</a><p>Id.</p></div>x',
         "[2] Id.\n\nx"),
        ('<p class="footnote"><sup>2</sup> Id.</p><p class="footnote"><sup>3</sup> Id.</p>x',
         "[2] Id.\n\n[3] Id.\n\nx"),
        ('<ol><li><p>Note. <a href="#r" epub:type="backlink">↩</a></p></li></ol>', "1. Note."),
    ],
)  # fmt: skip
def test_notes(markup: str, text: str) -> None:
    assert printed_text(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ('one <span class="star-pagination">*12</span> two', "one two"),
        ('con<a class="page-label" id="p3">**3</a>vince', "convince"),
        ("one <page-number label='5'>*5</page-number> two", "one two"),
        ('a<span epub:type="pagebreak" id="p1" title="1"/>b', "ab"),
        ('a<span role="doc-pagebreak" id="p1"></span>b', "ab"),
        # Who puts the class on a chapter does not mean that it is a page number.
        ('<div class="pagebreak"><h1>One</h1><p>The text of it.</p><p>More.</p></div>',
         "One\n\nThe text of it.\n\nMore."),
        ('<div class="pagebreak">A whole chapter of one sentence.</div>',
         "A whole chapter of one sentence."),
        ('a<span class="pagenum">never ended <b>b</b>', "anever ended b"),
    ],
)  # fmt: skip
def test_page_numbers(markup: str, text: str) -> None:
    assert printed_text(markup) == text


def test_page_numbers_on_request() -> None:
    markup = 'one <span class="star-pagination">*12</span> two'
    assert printed_text(markup, page_marks=True) == "one *12 two"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<blockquote><p>a<br/>b</p></blockquote>", "    a\n    b"),
        ("<block_quote>a</block_quote>b", "    a\n\nb"),
        ("<ruby>漢<rt>kan</rt>字<rp>(</rp><rt>ji</rt></ruby>", "漢字"),
        ('a<p hidden="">b</p>c<div style="display: none">d<div>e</div></div>f', "acf"),
        ('<div class="docnav">Prev</div><p>x</p>', "x"),
        ("<q>a <q>b</q></q>", "“a “b””"),
        ('<img src="t.png" alt="T"/>he <img alt="A view of the town"/>end', "The end"),
        ("co\u00adop\u2060era\u200btion \u201c\u200a\u2018", "cooperation “‘"),
        ('a<a id="x"/>b <i/>c<code/>d', "ab cd"),
        ("<xhtml:p>a</xhtml:p><xhtml:p>b</xhtml:p>", "a\n\nb"),
        ("<parties>A v. B</parties><court>C</court><opinion><author>D</author>e</opinion>",
         "A v. B\n\nC\n\nD\n\ne"),
        ('<citation id="b1">1 U.S. 1</citation>a <citation>2 U.S. 2</citation> b',
         "1 U.S. 1\n\na 2 U.S. 2 b"),
    ],
)  # fmt: skip
def test_print(markup: str, text: str) -> None:
    assert printed_text(markup) == text


def test_scene_breaks() -> None:
    assert printed_text("<p>a</p><hr/><p>b</p>", scene_breaks=True) == "a\n\n* * *\n\nb"
    assert printed_text("<p>a</p><hr/><p>b</p>") == "a\n\nb"


@pytest.mark.parametrize(
    "piece",
    [
        *("<span class='pagenum'>", "<p hidden>", "<sup>", "<a href='#x'>", "<footnote label='1'>"),
        *("<sup><a href='#x'>1</a></sup>", "<q>", "</q>", "<rt>", "<aside class='footnote'>1"),
    ],
)
def test_repetition_costs_no_more_than_its_length(piece: str) -> None:
    check_linear(lambda n: printed_text(piece * n), 2_000)


PIECES = st.sampled_from(
    [
        *("<p>", "</p>", "<sup>", "</sup>", "<a href='#x'>", "</a>", "1", "word", "<hr/>", "<q>"),
        *("<aside class='footnote'>", "</aside>", "<footnote label='1'>", "</footnote>", "&amp;"),
        *("<span class='pagenum'>", "</span>", "<rt>", "</rt>", "<td>", "<p hidden>", "\x1f", " "),
        *("<table>", "</table>", "<blockquote>", "</blockquote>", "<img alt='T'>", "<pre>"),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join), st.booleans())
def test_any_markup(markup: str, layout: bool) -> None:
    text = printed_text(markup, scene_breaks=layout, layout_tables=layout)
    assert text == printed_text(markup, scene_breaks=layout, layout_tables=layout)
    assert "<" not in text
    assert "\0" not in text
