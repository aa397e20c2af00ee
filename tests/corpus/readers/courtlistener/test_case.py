from __future__ import annotations

import pytest

from barrow import Document
from barrow.corpus.readers.courtlistener.case import (
    case_item,
    iso_date,
    opinion_item,
    opinion_text,
    page_meta,
    without_stars,
    written_date,
)
from barrow.corpus.readers.reader import Reject


def test_the_best_form_of_an_opinion_is_taken() -> None:
    forms = {
        "html_with_citations": "<p>cited</p>",
        "html_columbia": "<p>columbia</p>",
        "html_lawbox": "<p>lawbox</p>",
        "xml_harvard": "<opinion><p>harvard</p></opinion>",
        "html_anon_2020": "<p>anon</p>",
        "html": "<p>html</p>",
        "plain_text": "plain",
    }
    expected = ["cited", "columbia", "lawbox", "harvard", "anon", "html", "plain", ""]
    for text in expected:
        assert opinion_text(forms, page_marks=False) == text
        forms.pop(next(iter(forms), ""), None)
    assert opinion_text({"html": "<p> </p>", "plain_text": "plain"}, page_marks=False) == "plain"
    assert opinion_text({"html": 3, "plain_text": None}, page_marks=False) == ""


def test_plain_text_in_markup_is_put_together() -> None:
    pre = '<pre class="inline">The words of one line\nand of <span>another</span> line.</pre>'
    joined = "The words of one line and of another line."
    assert opinion_text({"html_with_citations": pre}, page_marks=False) == joined
    both = {"html_with_citations": pre, "plain_text": "The plain\nform."}
    assert opinion_text(both, page_marks=False) == "The plain form."


def test_meta_of_an_opinion() -> None:
    opinion = {
        "id": 7,
        "absolute_url": "/opinion/7/a-v-b/",
        "type": "040dissent",
        "author_str": "Ann  Judge",
        "plain_text": "Text.",
    }
    cluster = {
        "case_name": "A v. B",
        "date_filed": "2015-12-20",
        "judges": "Ann, Bob",
        "citations": [{"volume": 1, "reporter": "U.S.", "page": "2", "type": 1}, "3 F.2d 4"],
    }
    docket = {"docket_number": "12-345", "court": "https://x/api/rest/v4/courts/ca1/"}
    item = opinion_item(opinion, cluster, docket, {}, page_marks=False)
    assert item == Document(
        "Text.",
        {
            "title": "A v. B",
            "court": "ca1",
            "date": "2015-12-20",
            "citations": ["1 U.S. 2", "3 F.2d 4"],
            "docket_number": "12-345",
            "author": "Ann Judge",
            "judges": "Ann, Bob",
            "type": "dissent",
            "url": "https://www.courtlistener.com/opinion/7/a-v-b/",
            "member": "7",
        },
    )
    named = opinion_item(opinion, cluster, docket, {"full_name": "First Circuit"}, page_marks=False)
    assert isinstance(named, Document)
    assert named.meta["court"] == "First Circuit"
    old = opinion | {"citation": {"case_name": "Old v. New", "federal_cite_one": "1 F. 2"}}
    item = opinion_item(old, {}, {}, {}, page_marks=False)
    assert isinstance(item, Document)
    assert (item.meta["title"], item.meta["citations"]) == ("Old v. New", ["1 F. 2"])
    assert opinion_item({"id": 1, "html": ""}, {}, {}, {}, page_marks=False) == Reject(
        "no-text", "none of the forms of the opinion has text", "1"
    )


CASE = {
    "id": 2,
    "name": "First versus Second",
    "name_abbreviation": "First v. Second",
    "decision_date": "1901-01",
    "docket_number": "5",
    "first_page": "10",
    "last_page": "12",
    "citations": [{"type": "official", "cite": "1 U.S. 2"}],
    "court": {"name": "Supreme Court"},
    "frontend_url": "https://cite.case.law/us/1/2/",
}


def test_cases() -> None:
    opinions = [
        {"text": "One *11 two\nThree *99 four", "type": "majority", "author": "ANN, J."},
        {"text": "No.", "type": "dissent", "author": None},
    ]
    body = {"head_matter": "First v. Second", "opinions": opinions, "judges": ["Ann", "Bob"]}
    expected = Document(
        "First v. Second\n\nOne two\n\nThree *99 four\n\nNo.",
        {
            "title": "First v. Second",
            "court": "Supreme Court",
            "date": "1901-01",
            "citations": ["1 U.S. 2"],
            "docket_number": "5",
            "author": "ANN, J.",
            "judges": "Ann; Bob",
            "type": "majority; dissent",
            "url": "https://cite.case.law/us/1/2/",
            "member": "2",
        },
    )
    assert case_item({**CASE, "casebody": body}, page_marks=False) == expected
    assert (
        case_item({**CASE, "casebody": {"data": body, "status": "ok"}}, page_marks=False)
        == expected
    )
    kept = case_item({**CASE, "casebody": body}, page_marks=True)
    assert isinstance(kept, Document)
    assert "One *11 two" in kept.text
    xml = '<casebody><p id="b1">A <page-number>*11</page-number>b</p></casebody>'
    html = '<section class="casebody"><p>A <a class="page-label">*11</a>b</p></section>'
    for data in (xml, html):
        item = case_item({**CASE, "casebody": {"data": data}}, page_marks=False)
        assert isinstance(item, Document)
        assert item.text == "A b"
    refused = case_item({"id": 1, "casebody": {"data": None, "status": "limit"}}, page_marks=False)
    assert refused == Reject("no-text", "the case has no text (limit)", "1")


def test_meta_of_a_page() -> None:
    page = (
        '<section class="casebody" data-case-id="FC:1"><p class="parties" id="p-1">A,'
        '<a class="footnotemark">1</a><br> v.<br> B.</p><p class="court" id="p">Court of C.</p>'
        '<p class="docketnumber">No. 1</p><p class="decisiondate">Aug. 9, 2014.</p></section>'
    )
    assert page_meta(page) == {
        "title": "A, v. B",
        "court": "Court of C.",
        "date": "2014-08-09",
        "docket_number": "No. 1",
        "member": "FC:1",
    }


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("a *12 b *13 c *14 d", "a b c d"),
        ("a *12 b *13 c", "a *12 b *13 c"),
        ("2 *3 and *7 or *1", "2 *3 and *7 or *1"),
        ("a **5 b *12 c **6 d *13 e **7 f *14 g", "a b c d e f g"),
        ("a *12b *13c *14d", "a bcd".replace("b", "b ", 1).replace("c", "c ", 1)),
    ],
)
def test_star_pages(text: str, without: str) -> None:
    assert without_stars(text) == without


def test_star_pages_of_a_case() -> None:
    assert without_stars("a *12 b *50 c", range(10, 20)) == "a b *50 c"


def test_dates() -> None:
    values = ["2014-01-13", "2010-12-3", "08-29-2014", "1901-01", "1901", "2015-08-15T13:55Z", "x"]
    assert [iso_date(value) for value in values] == [
        *("2014-01-13", "2010-12-03", "2014-08-29", "1901-01", "1901", "2015-08-15", ""),
    ]
    values = ["Opinion Filed May 22, 2008.", "December 1, 2003", "Sept. 3, 1999", "no day"]
    assert [written_date(value) for value in values] == [
        *("2008-05-22", "2003-12-01", "1999-09-03", ""),
    ]
