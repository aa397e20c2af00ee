"""PILE-9: of the pages of a court's site, opinions are kept and the others are not."""

from __future__ import annotations

import pytest

from barrow import Document
from barrow.corpus.readers.courtlistener.opinion_page import opinion_page
from barrow.corpus.readers.reader import Reject

_CASES = [f"Smith {n} v. Jones" for n in range(20)]
_NOTES = "decided by the Court of Appeals on 3 May 2019, opinion by Judge Roe, judgment affirmed. "
_FOUND = "The trial court found that the mound was dug with leave; its judgment is affirmed. "
_MENU = "".join(
    f"<li><a href='/{n}'>{n}</a>" for n in ("Home", "Opinions", "Fees", "Rules", "Jobs")
)
_SITE = "<nav><ul>{0}</ul></nav><form><input name=q></form><main>{1}</main><footer>{0}</footer>"


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        (
            "<h1>Supreme Court</h1>"
            + "".join(f"<li><a href='/{c}'>{c}, No. 12-345, affirmed</a>" for c in _CASES),
            "name a case",
        ),
        (
            "<h1>Opinions</h1>"
            + "".join(f"<tr><td>{c}<td>May 3<td>denied" for c in _CASES[:2])
            + f"<p>{_FOUND * 3}",
            "name a case",
        ),
        (
            "<h1>Court of Appeals</h1>"
            + "".join(f"<h3>{c}, 2019 ND {n}</h3><p>{_NOTES * 2}" for n, c in enumerate(_CASES)),
            "name a case",
        ),
        (
            "<ul>"
            + "<li><a href='/'>Court of Claims</a><li><a href='/j'>Entry of judgment</a>" * 9,
            "are links",
        ),
        ("<rss><channel><title>District Court</title><item>Smith v. Jones", "data"),
        ("<feed><title>Supreme Court</title><entry>In re Roe, dismissed</entry></feed>", "data"),
        (f"<?xml version='1.0'?>\n<answer><title>Smith v. Jones</title>{_FOUND}</answer>", "data"),
        (f'{{"results": [{{"title": "Smith v. Jones", "summary": "{_FOUND}"}}]}}', "data"),
        (
            "<p>U.S. District Court<p>Smith v. Jones<p>Assigned to: Judge Roe<p>Date Filed: 5/3/19"
            + "<p>MOTION to dismiss GRANTED" * 9,
            "docket",
        ),
        (
            "<h1>Court of Appeals</h1><table>"
            + "".join(f"<tr><td>5/{n}/2019<td>9:30<td>affirmed" for n in range(1, 20)),
            "rows",
        ),
        (
            "<h1>Court of Claims</h1>" + f"<p>Filed 05/09/2014<p>OPINION. {_FOUND * 2}" * 9,
            "begin with a date",
        ),
        (
            "<h1>Court of Appeals</h1>"
            + f"<h3>Mounds</h3><p>{_FOUND * 3}<a href=x>Read more..</a>" * 3,
            "several texts",
        ),
        (
            "<h1>Supreme Court</h1>"
            + "".join(f"<p>{_FOUND}<a href='{n}.pdf'>{n}</a>" for n in range(5)),
            "links to 5 files",
        ),
        (
            f"<p>FOR IMMEDIATE RELEASE<p>The Supreme Court announced a program.<p>{_FOUND * 9}",
            "news",
        ),
        (
            "<h1>Supreme Court</h1>" + "<p>The court of records is open from nine to five." * 9,
            "words",
        ),
        ("<p>Smith v. Jones<form><input></form>", "words"),
        ("<p>" + " ".join(f"{case}, affirmed;" for case in _CASES), "cases are named"),
        (
            "<h1>Court of Appeals</h1>" + "<p>Civil action, judgment<p>Fee: 12 dollars" * 30,
            "in paragraphs",
        ),
    ],
)
def test_lists_menus_feeds_and_dockets_are_not_opinions(page: str, cause: str) -> None:
    for way in (page, _SITE.format(_MENU, page)) if page.startswith("<h1") else (page,):
        found = opinion_page(way, page_marks=False)
        assert isinstance(found, Reject)
        assert found.reason == "not-an-opinion"
        assert cause in found.cause


_CITED = "".join(
    f"<p>In <a href='/x'>Smith v. Jones, {n} U.S. {n}</a>, the Court held that a mound may be "
    "dug where the owner of the land has given leave, and we see no reason to depart from it."
    for n in range(20)
)


@pytest.mark.parametrize(
    "page",
    [
        f"<h1>Roe v. Doe</h1><p>Supreme Court<p>No. 7<p>May 3<p>Per Curiam{_CITED}<p>Affirmed.",
        "<p>ROE<p>v.<p>DOE<p>No. 2009AP942.<p>Court of Appeals of Utah.<p>May 3<p>2010<p>Affirmed.",
        "<p>In re Roe<p>ORDER<p>AND NOW, this 3d day of May, the petition is DENIED.",
        f"<p>MEMORANDUM<p>{_FOUND * 2}"
        "<ol>" + "<li>the lease was signed" * 9 + f"</ol><p>{_FOUND * 9}",
        f"<p>Roe v. Doe<p>{_FOUND * 3}"
        + f"<p>[1] See Smith v. Jones, No. 1-2 (1999).<p>{_FOUND * 2}" * 4,
        "<p>EN EL TRIBUNAL SUPREMO<p>Opinión del Tribunal<p>Se confirma la sentencia recurrida.",
        "<p>Roe v. Doe<p>Supreme Court<p><a href='o.pdf'>Download PDF</a><p>Reversed and remanded.",
    ],
)
def test_opinions_are_kept_also_on_a_site(page: str) -> None:
    """A page of a site has menus and a form to search; they are not part of the opinion."""
    bare, on_site = (
        opinion_page(way, page_marks=False) for way in (page, _SITE.format(_MENU, page))
    )
    assert isinstance(bare, Document)
    assert isinstance(on_site, Document)
    assert on_site.text.split() == bare.text.replace("Download PDF", "").split()
