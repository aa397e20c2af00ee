"""Citations of PubMed with their abstracts: NLM's XML, and the MEDLINE text format.

XML is what the yearly baseline and its updates have (``pubmed24n0001.xml.gz``: a PubmedArticleSet
of 30,000 citations), what E-utilities send, and the earlier MedlineCitationSet; books
(PubmedBookArticle) are read, too. Text is what PubMed saves and exports (``PMID- ``, ``TI  - ``,
``AB  - ``, in .txt and .nbib). Files may be compressed.

A citation is a document: title, blank line, abstract, the parts of a structured abstract one below
the other as ``LABEL: text``. `meta` has what identifies it; ``pmcid`` tells which are in PubMed
Central, which The Pile left out. Authors, substances, funding and references are not read, nor are
abstracts in further languages. Citations without an abstract are rejected, as are deletions in
update files.

Licence: NLM claims no copyright in PubMed; abstracts may have one of their publisher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import BinaryIO

from barrow.archive import Document
from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.language.codes import language_of_library_code
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.dates import iso_date
from barrow.corpus.text.encoding import decode_short
from barrow.corpus.text.jats.text import inline_text
from barrow.corpus.text.whitespace import one_spaced
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.parts import attributes_of, inner, repaired
from barrow.corpus.text.xml.records import xml_records

_RECORDS = ("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "DeleteCitation")
_PMID = re.compile(r"<PMID(?=[\s>])[^>]*+>\s*+([0-9]{1,12})\s*+</PMID>")
_PART = re.compile(
    r"<AbstractText(?=[\s>/])([^>]*+)(?:(?<=/)>|>((?:[^<]++|<(?!/AbstractText>))*+)</AbstractText>)"
)
_DATE_PART = re.compile(r"<(Year|Month|Day|MedlineDate)>\s*+([^<]{1,40})</")
_ARTICLE_ID = re.compile(r"<ArticleId(?=\s)([^>]*+)>\s*+([^<\s]++)\s*+</ArticleId>")
_LOCATION = re.compile(r"<ELocationID(?=\s)([^>]*+)>\s*+([^<\s]++)\s*+</ELocationID>")
_NO_LABEL = frozenset(["", "UNLABELLED", "UNLABELED", "UNASSIGNED"])
# NLM cut abstracts at 250 words until 1999, and said so.
_CUT = re.compile(r"\s?\(ABSTRACT TRUNCATED(?: AT [0-9]{1,4} WORDS)?\)$")
_YEAR_MONTH_DAY = re.compile(
    r"([0-9]{4})(?:[ /-]([A-Za-z]{3,9}|[0-9]{1,2}))?(?:[ /-]([0-9]{1,2})(?![0-9]))?"
)
_HEAD = 1 << 12
Fields = dict[str, list[str]]  # by tag, in the order of the file
_FIELD = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)", re.DOTALL)
_FIRST = re.compile(rb"[\s\xef\xbb\xbf]*+[A-Z][A-Z0-9]{1,3} {0,2}- ")
_LINE = 1 << 16


@dataclass(frozen=True)
class Medline(Reader):
    """PubMed/MEDLINE citations (XML or nbib): title and abstract, each of up to `max_bytes`.

    Reasons: ``no-abstract``, ``deleted``, ``bad-xml``, ``not-medline``, ``too-large``,
    ``truncated``, ``unknown-encoding``, and those of `barrow.corpus.input.unpack.open_unpacked`.
    """

    max_bytes: int = 1 << 24

    extractor = "medline/2"
    patterns = ("**/*.xml", "**/*.xml.gz", "**/*.nbib", "**/*.nbib.gz", "**/*.txt", "**/*.txt.gz")

    def read(self, path: Path) -> Iterator[Item]:
        try:
            with open_unpacked(path) as file:
                head = file.read(_HEAD)
                is_text = is_medline_text(head)
            with open_unpacked(path) as file:
                num = 0
                if is_text:
                    for fields in medline_records(file, max_bytes=self.max_bytes):
                        num += 1
                        yield fields if isinstance(fields, Reject) else _from_fields(fields)
                elif b"\0" in head or b"<" in head:
                    for record in xml_records(file, _RECORDS, max_bytes=self.max_bytes):
                        num += 1
                        yield from (record,) if isinstance(record, Reject) else _from_record(record)
                if not num:
                    yield Reject("not-medline", "no citation in it", "", excerpt(head))
        except BadXml as error:
            yield Reject("bad-xml", str(error))
        except BadArchive as error:
            yield error.as_reject()


def _from_record(record: bytes) -> Iterator[Item]:
    try:
        yield from _citations(record)
    except BadXml:
        try:
            yield from _citations(repaired(record))
        except BadXml as error:
            pmid = _PMID.search(record[:2000].decode("utf-8", "replace"))
            yield Reject("bad-xml", str(error), pmid[1] if pmid else "", excerpt(record))


def _citations(record: bytes) -> Iterator[Item]:
    try:
        text = _without_lists(record).decode()
    except UnicodeDecodeError as error:
        raise BadXml(str(error)) from None
    if text.startswith("<DeleteCitation"):
        for pmid in _PMID.findall(text):
            yield Reject("deleted", "NLM took the citation back", pmid)
    else:
        yield _from_xml(text)


def _without_lists(record: bytes) -> bytes:
    """A citation without its references and authors, which are most of its bytes."""
    start, end = record.find(b"<ReferenceList"), record.rfind(b"</ReferenceList>")
    if 0 <= start < end:
        record = record[:start] + record[end + len(b"</ReferenceList>") :]
    start = record.find(b"<AuthorList")
    end = record.find(b"</AuthorList>", start)
    if 0 <= start < end:
        record = record[:start] + record[end + len(b"</AuthorList>") :]
    return record


def _from_xml(text: str) -> Item:
    found = _PMID.search(text)
    pmid = found[1] if found else ""
    title = (
        _text(text, "ArticleTitle") or _text(text, "VernacularTitle") or _text(text, "BookTitle")
    )
    numbers = {attributes_of(tag).get("IdType"): value for tag, value in _ids(text)}
    if "doi" not in numbers and "<ELocationID" in text:
        for tag, value in _LOCATION.findall(text):
            numbers.setdefault(attributes_of(tag).get("EIdType"), value)
    is_book = text.startswith("<PubmedBookArticle")
    meta = _meta(
        pmid,
        title,
        date=_date(inner(text, "PubDate") or "") or _date(inner(text, "ArticleDate") or ""),
        language=inner(text, "Language") or "",
        pmcid=numbers.get("pmc", ""),
        doi=unescape(numbers.get("doi", "")),
        journal=_text(text, "BookTitle") if is_book else _text(text, "Title"),
        mesh=_mesh(inner(text, "MeshHeadingList") or ""),
    )
    return _document(title, _abstract(inner(text, "Abstract") or ""), meta)


def _text(text: str, name: str) -> str:
    return inline_text(inner(text, name) or "")


def _ids(text: str) -> list[tuple[str, str]]:
    return _ARTICLE_ID.findall(inner(text, "ArticleIdList") or "")


def _abstract(content: str) -> str:
    parts: list[str] = []
    for tag, part in _PART.findall(content):
        if part := inline_text(part):
            label = one_spaced(unescape(attributes_of(tag).get("Label", ""))).rstrip(":")
            parts.append(part if label.upper() in _NO_LABEL else f"{label}: {part}")
    return "\n".join(parts)


def _date(content: str) -> str:
    parts = {name.lower(): value for name, value in _DATE_PART.findall(content)}
    if words := parts.get("medlinedate"):  # 1998 Dec-1999 Jan
        return _date_of_words(words)
    return iso_date(parts)


def _date_of_words(words: str) -> str:
    found = _YEAR_MONTH_DAY.search(words)
    if found is None:
        return ""
    return iso_date({"year": found[1], "month": found[2] or "", "day": found[3] or ""})


def _mesh(content: str) -> list[str]:
    """What the article is mainly about."""
    headings = content.split("</MeshHeading>")
    return [_text(found, "DescriptorName") for found in headings if 'TopicYN="Y"' in found]


def _from_fields(fields: Fields) -> Item:
    def first(*tags: str) -> str:
        return next(
            (one_spaced(unescape(value)) for tag in tags for value in fields.get(tag, ())), ""
        )

    title = first("TI", "TT", "BTI")
    places = [*fields.get("LID", ()), *fields.get("AID", ())]
    doi = next((place.removesuffix("[doi]").strip() for place in places if "[doi]" in place), "")
    headings = [one_spaced(value) for value in fields.get("MH", ())]
    meta = _meta(
        first("PMID"),
        title,
        date=_date_of_words(first("DP")),
        language=first("LA"),
        pmcid=first("PMC"),
        doi=doi,
        journal=first("JT", "BTI", "TA"),
        mesh=[heading.replace("*", "").split("/")[0] for heading in headings if "*" in heading],
    )
    return _document(title, first("AB"), meta)


def _meta(
    pmid: str,
    title: str,
    *,
    date: str,
    language: str,
    pmcid: str,
    doi: str,
    journal: str,
    mesh: list[str],
) -> dict[str, str]:
    code = language_of_library_code(language)
    values = {
        "title": title,
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid else "",
        "date": date,
        # The abstract of an article in another language is in English, too.
        "language": code if code == "en" else "",
        "article_language": code if code != "en" else "",
        "member": pmid,
        "pmid": pmid,
        "pmcid": pmcid,
        "doi": doi,
        "journal": journal,
        "mesh": "; ".join(mesh),
    }
    return {key: one_spaced(value) for key, value in values.items() if value}


def _document(title: str, abstract: str, meta: dict[str, str]) -> Item:
    if abstract.endswith(")") and (found := _CUT.search(abstract, max(0, len(abstract) - 50))):
        abstract = abstract[: found.start()]
    if not abstract:
        return Reject("no-abstract", "a title at most", meta.get("pmid", ""), excerpt(title))
    return Document(f"{title}\n\n{abstract}" if title else abstract, meta)


def is_medline_text(head: bytes) -> bool:
    """Whether the beginning of a file has fields of this format."""
    return _FIRST.match(head) is not None


def medline_records(file: BinaryIO, *, max_bytes: int) -> Iterator[Fields | Reject]:
    """The fields of each record, which begins with its PMID. Larger ones are ``too-large``."""
    held: list[bytes] = []
    size = 0
    at_line_start = True
    while line := file.readline(_LINE):
        if not size:
            line = line.removeprefix(b"\xef\xbb\xbf").lstrip()
        if at_line_start and line.startswith(b"PMID") and any(map(bytes.strip, held)):
            yield _record(held, size, max_bytes)
            held, size = [], 0
        size += len(line)
        if size <= max_bytes:
            held.append(line)
        at_line_start = line.endswith(b"\n")
    if any(map(bytes.strip, held)):
        yield _record(held, size, max_bytes)


def _record(lines: list[bytes], size: int, max_bytes: int) -> Fields | Reject:
    data = b"".join(lines)
    if size > max_bytes:
        return Reject("too-large", f"{size:,} bytes, more than {max_bytes:,}", "", excerpt(data))
    found = decode_short(data)
    if found is None:
        return Reject("unknown-encoding", "unknown encoding", "", excerpt(data))
    fields: dict[str, list[list[str]]] = {}
    parts: list[str] = []
    for line in found[0].splitlines():
        if line[:1].isspace():
            parts.append(line.strip())
        elif field := _FIELD.match(line):
            parts = [field[2].strip()]
            fields.setdefault(field[1], []).append(parts)
    return {tag: [" ".join(value) for value in values] for tag, values in fields.items()}
