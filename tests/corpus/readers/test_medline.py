"""Citations of PubMed (PILE-6)."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from tests.items import sorted_out, write

from barrow import Document
from barrow.corpus.readers.medline import Medline, is_medline_text, medline_records
from barrow.corpus.readers.reader import Reject

HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD '
    'PubMedArticle, 1st January 2024//EN" "https://dtd.nlm.nih.gov/pubmed_240101.dtd">\n'
)
DATE = "<Year>2012</Year><Month>Oct</Month><Day>5</Day>"
CITATION = """<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">{pmid}</PMID>
<DateRevised><Year>2020</Year></DateRevised><Article><Journal><JournalIssue><PubDate>{date}</PubDate>
</JournalIssue><Title>Mound letters</Title></Journal><ArticleTitle>{title}</ArticleTitle>
<ELocationID EIdType="doi" ValidYN="Y">10.1/m.{pmid}</ELocationID>{abstract}
<AuthorList><Author><LastName>Digger</LastName></Author></AuthorList><Language>{language}</Language>
</Article><MeshHeadingList><MeshHeading><DescriptorName UI="D1" MajorTopicYN="N">Humans
</DescriptorName></MeshHeading><MeshHeading><DescriptorName UI="D2" MajorTopicYN="N">Pollen
</DescriptorName><QualifierName MajorTopicYN="Y">analysis</QualifierName></MeshHeading>
</MeshHeadingList><CommentsCorrectionsList><CommentsCorrections><PMID>99</PMID>
</CommentsCorrections></CommentsCorrectionsList></MedlineCitation><PubmedData><ArticleIdList>
<ArticleId IdType="pubmed">{pmid}</ArticleId><ArticleId IdType="pmc">PMC7</ArticleId>
</ArticleIdList><ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.9/other
</ArticleId></ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>"""
ABSTRACT = "<Abstract><AbstractText>We dug.</AbstractText></Abstract>"
TEXT = """
PMID- 12
OWN - NLM
DP  - 2002 Sep-Oct
TI  - The mound
      toolkits.
LID - 10.1/x [doi]
AB  - AIM: To dig, p &lt; 0.05.
      Done.
FAU - Digger, A
LA  - eng
JT  - Mound letters
MH  - Humans
MH  - *Pollen/analysis
PMC - PMC5

PMID- 13
TI  - Nothing.
LA  - ger
"""


def citation(pmid: int = 1, **fields: str) -> str:
    usual = {"title": "On mounds.", "abstract": ABSTRACT, "date": DATE, "language": "eng"}
    return CITATION.format(pmid=pmid, **usual | fields)


def whole(*citations: str) -> bytes:
    return f"{HEAD}<PubmedArticleSet>{''.join(citations)}</PubmedArticleSet>".encode()


def test_a_citation(tmp_path: Path) -> None:
    """PILE-6: title, blank line, abstract; pmcid, so that those in PMC can be left out."""
    path = write(tmp_path / "pubmed24n0001.xml.gz", gzip.compress(whole(citation())))
    assert list(Medline().read(path)) == [
        Document(
            "On mounds.\n\nWe dug.",
            {
                "title": "On mounds.",
                "url": "https://pubmed.ncbi.nlm.nih.gov/1/",
                "date": "2012-10-05",
                "language": "en",
                "member": "1",
                "pmid": "1",
                "pmcid": "PMC7",
                "doi": "10.1/m.1",
                "journal": "Mound letters",
                "mesh": "Pollen",
            },
        )
    ]
    assert list(Medline().read(path)) == list(Medline().read(path))


@pytest.mark.parametrize(
    ("abstract", "expected"),
    [
        (('<AbstractText Label="AIM:" NlmCategory="OBJECTIVE">a</AbstractText>\n'
         '<AbstractText Label="UNLABELLED">b</AbstractText><AbstractText Label="R &amp; D">c'
         "</AbstractText><AbstractText/><CopyrightInformation>(c)</CopyrightInformation>"),
         "AIM: a\nb\nR & D: c"),
        (("<AbstractText>10<sup>6</sup> H<sub>2</sub>O <i>in\n vivo</i>, P &lt; 0.05 &#945;"
         "</AbstractText>"), "10^6 H2O in vivo, P < 0.05 α"),
        (('<AbstractText>so <mml:math xmlns:mml="x"><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn>'
         "</mml:msup></mml:math></AbstractText>"), "so $x^2$"),
        ("<AbstractText>Cut here.(ABSTRACT TRUNCATED AT 250 WORDS)</AbstractText>", "Cut here."),
        ("<AbstractText>a &nbsp; b & c \x01&lt;</AbstractText>", "a b & c <"),
        ("<AbstractText><i>a</i> &nbsp; b & c</AbstractText>", "a b & c"),
    ],
)  # fmt: skip
def test_abstracts(tmp_path: Path, abstract: str, expected: str) -> None:
    data = whole(
        citation(abstract=f"<Abstract>{abstract}</Abstract><OtherAbstract>x</OtherAbstract>")
    )
    (document,) = Medline().read(write(tmp_path / "a.xml", data))
    assert isinstance(document, Document)
    assert document.text == f"On mounds.\n\n{expected}"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "1998-12"),
        ("<MedlineDate>Winter 1998</MedlineDate>", "1998"),
        ("<Year>1990</Year><Season>Spring</Season>", "1990"),
        ("<Year>2001</Year><Month>02</Month><Day>31</Day>", "2001-02"),
        ("<Year>20x1</Year>", None),
    ],
)
def test_dates(tmp_path: Path, date: str, expected: str | None) -> None:
    (document,) = Medline().read(write(tmp_path / "a.xml", whole(citation(date=date))))
    assert isinstance(document, Document)
    assert document.meta.get("date") == expected


def test_other_kinds(tmp_path: Path) -> None:
    book = """<PubmedBookArticle><BookDocument><PMID>5</PMID><ArticleIdList/><Book><BookTitle>Genes
    </BookTitle><PubDate><Year>1993</Year></PubDate><AuthorList Type="editors"/></Book><ArticleTitle
    book="g">One gene</ArticleTitle><Language>eng</Language><AuthorList Type="authors"/>
    <Abstract><AbstractText>It is.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"""
    deleted = "<DeleteCitation><PMID Version='1'>8</PMID><PMID>9</PMID></DeleteCitation>"
    foreign = citation(3, language="chi", title="[On mounds].")
    none = citation(4, abstract="")
    documents, rejects = sorted_out(
        list(Medline().read(write(tmp_path / "a.xml", whole(book, foreign, none, deleted))))
    )
    assert documents[0].text == "One gene\n\nIt is."
    assert (documents[0].meta["journal"], documents[0].meta["date"]) == ("Genes", "1993")
    assert documents[1].text == "[On mounds].\n\nWe dug."
    assert documents[1].meta["article_language"] == "zh"
    assert "language" not in documents[1].meta, "the abstract is in English"
    assert [(r.reason, r.member, r.excerpt) for r in rejects] == [
        *(("no-abstract", "4", "On mounds."), ("deleted", "8", ""), ("deleted", "9", "")),
    ]
    old = citation().partition("<MedlineCitation")[2].partition("</MedlineCitation>")[0]
    data = f"<MedlineCitationSet><MedlineCitation{old}</MedlineCitation></MedlineCitationSet>"
    (document,) = Medline().read(write(tmp_path / "b.xml", data.encode()))
    assert isinstance(document, Document)
    assert document.text == "On mounds.\n\nWe dug."


def test_what_it_refers_to_is_not_itself(tmp_path: Path) -> None:
    before, _, after = citation().partition("<ArticleIdList>")
    data = whole(before + after.partition("</ArticleIdList>")[2])
    (document,) = Medline().read(write(tmp_path / "a.xml", data))
    assert isinstance(document, Document)
    assert document.meta["doi"] == "10.1/m.1"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_text_format(tmp_path: Path, ends: str) -> None:
    path = write(tmp_path / "a.nbib", b"\xef\xbb\xbf" + TEXT.replace("\n", ends).encode())
    documents, rejects = sorted_out(list(Medline().read(path)))
    assert documents == [
        Document(
            "The mound toolkits.\n\nAIM: To dig, p < 0.05. Done.",
            {
                "title": "The mound toolkits.",
                "url": "https://pubmed.ncbi.nlm.nih.gov/12/",
                "date": "2002-09",
                "language": "en",
                "member": "12",
                "pmid": "12",
                "pmcid": "PMC5",
                "doi": "10.1/x",
                "journal": "Mound letters",
                "mesh": "Pollen",
            },
        )
    ]
    assert [(r.reason, r.member) for r in rejects] == [("no-abstract", "13")]
    assert [r.reason for r in sorted_out(list(Medline(max_bytes=60).read(path)))[1]] == [
        *("too-large", "no-abstract"),
    ]


def test_a_broken_citation_costs_no_other(tmp_path: Path) -> None:
    broken = citation(2, title="<i>On</b> mounds")
    data = whole(citation(1), broken, f"<!-- {citation(7)} -->", citation(3))
    documents, rejects = sorted_out(list(Medline().read(write(tmp_path / "a.xml", data))))
    assert [document.meta["pmid"] for document in documents] == ["1", "3"]
    assert [(r.reason, r.member) for r in rejects] == [("bad-xml", "2")]
    cut = gzip.compress(b"".join([whole(*map(citation, range(2000)))]))[:-400]
    documents, rejects = sorted_out(list(Medline().read(write(tmp_path / "b.xml.gz", cut))))
    assert len(documents) > 100
    assert [document.meta["pmid"] for document in documents] == [
        str(n) for n in range(len(documents))
    ]
    assert [r.reason for r in rejects] == ["truncated"]


def test_encodings(tmp_path: Path) -> None:
    data = whole(citation(title="Naïve.")).decode()
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "latin-1"):
        (document,) = Medline().read(write(tmp_path / "a.xml", data.encode(encoding)))
        assert isinstance(document, Document)
        assert document.meta["title"] == "Naïve."


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    laughs = '<!DOCTYPE P [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><PubmedArticleSet>' + citation()
    for data, reason in (
        (b"", "empty"),
        (b"just text", "not-medline"),
        (b"<html/>", "not-medline"),
        (bytes(5000), "not-medline"),
        (laughs.encode(), "bad-xml"),
        (laughs.encode("utf-16"), "bad-xml"),
        (whole(citation())[:-60], "truncated"),
    ):
        documents, rejects = sorted_out(list(Medline().read(write(path, data))))
        assert (documents, [r.reason for r in rejects]) == ([], [reason]), data[:40]
    rejects = sorted_out(list(Medline(max_bytes=50).read(write(path, whole(citation())))))[1]
    assert [r.reason for r in rejects] == ["too-large"]
    large = whole(citation(1, title="x" * (3 << 20)), citation(2))
    documents, rejects = sorted_out(list(Medline(max_bytes=1 << 20).read(write(path, large))))
    assert [d.meta["pmid"] for d in documents] == ["2"]
    assert [r.reason for r in rejects] == ["too-large"]
    for name in ("missing.xml", "."):
        assert [type(item) for item in Medline().read(tmp_path / name)] == [Reject]
    deep = citation(
        abstract=f"<Abstract><AbstractText>{'<i>' * 100_000}a</AbstractText></Abstract>"
    )
    assert [r.reason for r in sorted_out(list(Medline().read(write(path, whole(deep)))))[1]] == [
        "bad-xml"
    ]
    deep = deep.replace("a</Abs", f"a{'</i>' * 100_000}</Abs")
    assert len(sorted_out(list(Medline().read(write(path, whole(deep)))))[0]) == 1


def test_records() -> None:
    data = b"\xef\xbb\xbf\nPMID- 1\nTI  - a\n      b\n\nAU  - x\nAU  - y\nnonsense\n"
    data += b"\nPMID- 2\nTI  -c\n"
    assert list(medline_records(io.BytesIO(data), max_bytes=1000)) == [
        {"PMID": ["1"], "TI": ["a b"], "AU": ["x", "y"]},
        {"PMID": ["2"], "TI": ["c"]},
    ]
    assert list(medline_records(io.BytesIO(b"\n\n"), max_bytes=1000)) == []


def test_what_does_not_fit() -> None:
    data = b"PMID- 1\nTI  - " + b"PMID" * 100_000 + b"\nPMID- 2\n"
    first, second = medline_records(io.BytesIO(data), max_bytes=1000)
    assert isinstance(first, Reject)
    assert first.reason == "too-large"
    assert second == {"PMID": ["2"]}


def test_how_it_begins() -> None:
    assert is_medline_text(b"\n\nPMID- 1")
    assert is_medline_text(b"\xef\xbb\xbfTI  - x")
    assert not is_medline_text(b"Dear all - ")
    assert not is_medline_text(b"<xml")
