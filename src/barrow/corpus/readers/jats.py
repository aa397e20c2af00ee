"""Journal articles in JATS (NISO Z39.96) or NLM's earlier formats, as PubMed Central has them.

An article is a document in markdown: its title, abstracts, sections as headings by their depth,
paragraphs, lists, pipe tables, captions of figures, TeX between dollars, boxes, notes, appendices.
A file holds one article or many (``pmc-articleset``), and may be compressed, or packed in a tar or
zip, as the bulk packages are.

Left out: authors and addresses, references, acknowledgements (see the options), statements of
conflicts and contributions, translated abstracts, abstracts that only repeat (graphical, teaser),
pictures. Of formulas that are only pictures ``[formula]`` remains, and ``formula_images`` in `meta`
counts them. Corrections and retractions are kept; see ``article_type``.

Licence: each article has its own; `meta` has it as an SPDX identifier or an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import BinaryIO

from barrow.archive import Document
from barrow.corpus.input.unpack import BadArchive, kind_of, members, open_unpacked
from barrow.corpus.language.codes import language_of_tag
from barrow.corpus.licences.creative_commons import article_licence
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.dates import iso_date
from barrow.corpus.text.jats.text import JatsWriter, inline_text
from barrow.corpus.text.whitespace import one_spaced
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.parts import attributes_of, plain_names, repaired, without
from barrow.corpus.text.xml.records import xml_records

_SUFFIXES = (".xml", ".nxml")
_ROOT = re.compile(r"<article(?=[\s>])([^>]*+)>")
_TITLE_GROUP = re.compile(r"<title-group(?=[\s>])[^>]*+>(.*?)</title-group>", re.DOTALL)
_TITLE = re.compile(r"<article-title(?=[\s>])[^>]*+>(.*?)</article-title>", re.DOTALL)
_SUBTITLE = re.compile(r"<subtitle(?=[\s>])[^>]*+>(.*?)</subtitle>", re.DOTALL)
_NOTE_MARK = re.compile(r"<xref(?=[\s>])[^>]*+>.{0,100}?</xref>|<fn(?=[\s>]).*?</fn>", re.DOTALL)
_JOURNAL = re.compile(r"<journal-title(?=[\s>])[^>]*+>(.*?)</journal-title>", re.DOTALL)
_ID = re.compile(r"<article-id(?=\s)([^>]*+)>\s*+([^<\s]++)\s*+</article-id>")
_DATE = re.compile(r"<pub-date(?=[\s>])([^>]*+)>(.*?)</pub-date>", re.DOTALL)
_PART = re.compile(r"<(year|month|day)(?=[\s>])[^>]*+>\s*+([^<]{1,20})</")
_LICENCE = re.compile(r"<license(?=[\s>]).*?</license>|<license(?=[\s>])[^>]*+/>", re.DOTALL)
_RIGHTS = re.compile(r"<(?:copyright-statement|ali:license_ref)(?=[\s>])[^>]*+>[^<]*+", re.DOTALL)
_ABSTRACT = re.compile(r"<abstract(?=[\s>])([^>]*+)>(.*?)</abstract>", re.DOTALL)
_REPEATING = frozenset(["graphical", "toc", "teaser", "precis", "short", "editor", "video", "web"])
_HAS_TITLE = re.compile(r"\s*+<title[\s>]")
_HREF = re.compile(r"\bhref\s{0,9}=\s{0,9}\"([^\"]*+)\"")
_MARKUP = re.compile(r"<[^>]*+>")
# The day an article first appeared, before that of the issue it was put into.
_FIRST = ("epub", "electronic", "pub", "epub-ppub", "ppub", "print", "collection", "pmc-release")


@dataclass(frozen=True)
class Jats(Reader):
    """JATS XML (PubMed Central): articles as Markdown, with headings, tables and formulas.

    `references` and `acknowledgements` keep those; references are dropped by default as in The
    Pile, where pandoc moved them into metadata. `abstract_only` keeps articles of which the body is
    missing, which otherwise are rejected as ``no-body``: their abstracts are in PubMed. An article
    larger than `max_bytes` is rejected.

    Reasons: ``no-body``, ``bad-xml``, ``not-jats``, ``too-large``, ``truncated``, ``unknown-file``,
    and those of `barrow.corpus.input.unpack`.
    """

    references: bool = False
    acknowledgements: bool = False
    abstract_only: bool = False
    max_bytes: int = 1 << 26

    extractor = "jats/2"
    patterns = (
        *(f"**/*{suffix}{packed}" for suffix in _SUFFIXES for packed in ("", ".gz")),
        *("**/*.tar.gz", "**/*.tgz", "**/*.tar", "**/*.zip"),
    )

    def read(self, path: Path) -> Iterator[Item]:
        dropped = (
            *(() if self.references else ("ref-list",)),
            *(() if self.acknowledgements else ("ack",)),
        )
        for member, record in _records(path, self.max_bytes):
            if isinstance(record, Reject):
                yield record
                continue
            try:
                yield _article(record, member, dropped=dropped, abstract_only=self.abstract_only)
            except BadXml:
                try:
                    data = repaired(record)
                    yield _article(data, member, dropped=dropped, abstract_only=self.abstract_only)
                except BadXml as error:
                    yield Reject("bad-xml", str(error), member, excerpt(record))


def _records(path: Path, max_bytes: int) -> Iterator[tuple[str, bytes | Reject]]:
    """Each article as bytes, with its place in the file."""
    try:
        if kind_of(path) not in ("tar", "zip"):
            with open_unpacked(path) as file:
                yield from _of_file(file, "", max_bytes)
            return
        for member in members(path):
            if isinstance(member, Reject):
                yield member.member, member
            elif member.name.lower().endswith(_SUFFIXES):
                yield from _of_file(member.open(), member.name, max_bytes)
            else:
                yield "", Reject("unknown-file", "not an article in XML", member.name)
    except BadArchive as error:
        yield "", error.as_reject()


def _of_file(file: BinaryIO, name: str, max_bytes: int) -> Iterator[tuple[str, bytes | Reject]]:
    num = 0
    try:
        for record in xml_records(file, ("article",), max_bytes=max_bytes):
            num += 1
            yield name, replace(record, member=name) if isinstance(record, Reject) else record
        if not num:
            yield "", Reject("not-jats", "there is no <article> in it", name)
    except BadXml as error:
        yield "", Reject("bad-xml", str(error), name)
    except BadArchive as error:
        yield "", error.as_reject(name)


def _article(record: bytes, member: str, *, dropped: tuple[str, ...], abstract_only: bool) -> Item:
    record = plain_names(record)
    end = record.find(b"</front>")
    try:
        front = record[: max(end, 0)].decode()
    except UnicodeDecodeError as error:
        raise BadXml(str(error)) from None
    start = end + len(b"</front>") if end >= 0 else 0
    body_end = max(record.find(b"</body>", start), start)
    back = record[body_end:]
    for name in dropped:  # most of an article's tags are in its references
        back = without(back, name)
    rest = b"".join((b"<article>" if start else b"", record[start:body_end], back))
    writer = JatsWriter(dropped=dropped)
    writer.write(rest)
    body = writer.finish()
    meta = _meta(front)
    title = str(meta.get("title", ""))
    if not body and not abstract_only:
        return Reject("no-body", "an abstract at most", member, excerpt(title))
    abstracts = _abstracts(front)
    parts = (f"# {title}" if title else "", abstracts, body)
    content = "\n\n".join(part for part in parts if part)
    if not (abstracts or body):
        return Reject("no-body", "neither a body nor an abstract", member, excerpt(title))
    if writer.num_missing:
        meta["formula_images"] = writer.num_missing
    if member:
        meta["member"] = member
    return Document(content, meta)


def _abstracts(front: str) -> str:
    writer = JatsWriter()
    for attributes, content in _ABSTRACT.findall(front):
        if attributes_of(attributes).get("abstract-type") in _REPEATING:
            continue
        if not _HAS_TITLE.match(content):
            writer.head("Abstract")
        writer.write(f"<abstract>{content}</abstract>".encode())
    return writer.finish()


def _meta(front: str) -> dict[str, str | int]:
    root = _ROOT.match(front)
    attributes = attributes_of(root[1]) if root else {}
    numbers = {attributes_of(tag).get("pub-id-type"): value for tag, value in _ID.findall(front)}
    pmcid = (numbers.get("pmcid") or numbers.get("pmc") or "").upper().removeprefix("PMC")
    doi = unescape(numbers.get("doi", ""))
    journal = _JOURNAL.search(front)
    values = {
        "title": _title(front),
        "url": f"https://doi.org/{doi}" if doi else "",
        "date": _date(front),
        "language": language_of_tag(attributes.get("xml:lang", "")),
        "licence": _licence(front),
        "pmid": numbers.get("pmid", ""),
        "pmcid": f"PMC{pmcid}" if pmcid.isdecimal() else "",
        "doi": doi,
        "journal": inline_text(journal[1]) if journal else "",
        "article_type": attributes.get("article-type", ""),
    }
    return {key: one_spaced(value) for key, value in values.items() if value}


def _title(front: str) -> str:
    group = _TITLE_GROUP.search(front)
    found = _TITLE.search(group[1]) if group else None
    if group is None or found is None:
        return ""
    subtitle = _SUBTITLE.search(group[1])
    titles = [found[1], subtitle[1] if subtitle else ""]
    texts = [inline_text(_NOTE_MARK.sub("", title)).rstrip("*") for title in titles]
    return ": ".join(text for text in texts if text)


def _date(front: str) -> str:
    dates: dict[str, str] = {}
    for tag, content in _DATE.findall(front):
        attributes = attributes_of(tag)
        kind = attributes.get("pub-type") or attributes.get("date-type") or ""
        if date := iso_date(dict(_PART.findall(content))):
            dates.setdefault(kind, date)
    return next((dates[kind] for kind in _FIRST if kind in dates), min(dates.values(), default=""))


def _licence(front: str) -> str:
    found = _LICENCE.search(front)
    statements = [found[0]] if found else []
    statements += _RIGHTS.findall(front)
    statement = " ".join(statements)
    words = _MARKUP.sub(" ", statement)
    return article_licence(unescape(" ".join([*_HREF.findall(statement), words])))
