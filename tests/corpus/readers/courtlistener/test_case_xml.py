from __future__ import annotations

from xml.sax.saxutils import escape

from barrow import Document
from barrow.corpus.readers.courtlistener.case_xml import case_xml_items
from barrow.corpus.readers.reader import Reject

METS = """<?xml version='1.0' encoding='utf-8'?>
<mets><dmdSec><case xmlns="x" caseid="1"><court abbreviation="Wash.">Washington Court</court>
<name abbreviation="In re Lyle">In the Matter of Lyle</name><docketnumber>No. 3</docketnumber>
<citation category="official">199 Wash. 6</citation><decisiondate>2017-07-11</decisiondate></case>
</dmdSec><file><casebody xmlns="y" firstpage="6" lastpage="7"><parties id="b">In re Lyle.</parties>
<judges id="c">Fearing, J., concurs.</judges>
<opinion type="majority"><author id="d">Pennell, J.</author><p id="e">Judges are autho\u00adrized.
<footnotemark>1</footnotemark> More.</p><footnote label="1"><p>1 A note.</p></footnote>
</opinion></casebody></file></mets>"""


def fastcase(html: str) -> str:
    return (
        "<Case><ShortName>A v. B</ShortName><Jurisdiction><CourtName>Court C.</CourtName>"
        "</Jurisdiction><DocketNumbers><DocketNumber> No. 4</DocketNumber></DocketNumbers>"
        "<Citations><Citation><Volume>627</Volume><Reporter>Pa.</Reporter><Page>352</Page>"
        "</Citation><Citation><Volume>100</Volume><Reporter>A.3d</Reporter><Page>206</Page>"
        "</Citation></Citations><DecisionDate>08-29-2014</DecisionDate><Author>D, J.</Author>"
        f"<HeaderHtml>{escape('<center><p>A<br>v.<br>B</p></center>')}</HeaderHtml>"
        f"<CaseHtml>{escape(html)}</CaseHtml></Case>"
    )


def test_casebody() -> None:
    assert case_xml_items(METS, page_marks=False) == [
        Document(
            "In re Lyle.\n\nFearing, J., concurs.\n\nPennell, J.\n\n"
            "Judges are authorized. [1] More.\n\n[1] A note.",
            {
                "title": "In re Lyle",
                "court": "Washington Court",
                "date": "2017-07-11",
                "citations": ["199 Wash. 6"],
                "docket_number": "No. 3",
                "author": "Pennell, J.",
                "judges": "Fearing, J., concurs.",
            },
        )
    ]


def test_fastcase() -> None:
    html = (
        "<p>ORDER</p><p>[627 Pa. 352]</p><p>AND NOW,</b> it is granted. In all </p>"
        "<p>[627 Pa. 353, 100 A.3d 207]</p><p>other respects it is denied; see [5 F. 6].</p>"
        "<p>--------</p><p><SUP><A HREF='#fr1'>1.</A></SUP> A note &amp;amp; more.</p>"
    )
    assert case_xml_items(fastcase(html), page_marks=False) == [
        Document(
            "A\nv.\nB\n\nORDER\n\nAND NOW, it is granted. In all other respects it is denied; "
            "see [5 F. 6].\n\n[1] A note &amp; more.",
            {
                "title": "A v. B",
                "court": "Court C.",
                "date": "2014-08-29",
                "citations": ["627 Pa. 352", "100 A.3d 206"],
                "docket_number": "No. 4",
                "author": "D, J.",
            },
        )
    ]
    kept = case_xml_items(fastcase(html), page_marks=True)[0]
    assert isinstance(kept, Document)
    assert "[627 Pa. 353, 100 A.3d 207]" in kept.text


def test_what_is_no_case() -> None:
    for xml in ("<alto><String CONTENT='a'/></alto>", "<court><opinion/></court>", "", "text"):
        items = case_xml_items(xml, page_marks=False)
        assert [item.reason for item in items if isinstance(item, Reject)] == ["not-an-opinion"]
    items = case_xml_items(fastcase("").replace("A&lt;br&gt;v.&lt;br&gt;B", ""), page_marks=False)
    assert [item.reason for item in items if isinstance(item, Reject)] == ["no-text"]


def test_damage_keeps_what_precedes_it() -> None:
    document, reject = case_xml_items(METS[:-60], page_marks=False)
    assert isinstance(document, Document)
    assert document.meta["title"] == "In re Lyle"
    assert isinstance(reject, Reject)
    assert reject.reason == "bad-xml"
    document, reject = case_xml_items(fastcase("<p>one</p><p>two</p>")[:-40], page_marks=False)
    assert isinstance(document, Document)
    assert "one" in document.text
    bomb = '<!DOCTYPE Case [<!ENTITY a "aaaa">]><Case><CaseHtml>&a;</CaseHtml></Case>'
    (reject,) = case_xml_items(bomb, page_marks=False)
    assert isinstance(reject, Reject)
    (reject,) = case_xml_items(f"<Case/>{bomb}", page_marks=False)
    assert isinstance(reject, Reject)
    assert reject.reason == "bad-xml"
    deep = "<Case>" + "<a>" * 100_000
    assert isinstance(case_xml_items(deep, page_marks=False)[-1], Reject)
