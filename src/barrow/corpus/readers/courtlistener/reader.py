"""Court opinions of CourtListener and the Caselaw Access Project, one document per opinion.

CourtListener: objects of its interface and of its test fixtures, single, in lists and in pages, as
JSON or JSON lines, in tar or zip, and the tables of its bulk data in CSV; the case's name, date,
court and citations are taken from clusters, dockets and courts where the same file, or the tables
of the same day, have them. Caselaw Access Project: cases as JSON, JSON lines, XML and HTML, a case
a document; also Fastcase's XML, which is part of it. Lone pages of HTML are taken if they look like
an opinion.

Text: the head of the case if it is part of the document, the opinion in paragraphs, block quotes
indented, footnotes after the opinion or where the document has them, each with its mark in
brackets. Plain text from PDFs is joined from lines and pages (`paged_text`). Numbers of printed
pages (``*123``) are left out. `meta` has ``title``, ``court``, ``date``, ``citations``,
``docket_number``, ``author``, ``judges``, ``type`` (lead, dissent, ...), ``url`` and ``member``.

Licence: opinions of United States courts are in the public domain; CourtListener dedicates its data
to the public domain, the Caselaw Access Project (since 2024) uses CC0.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from barrow.archive import Document
from barrow.corpus.input.spill import temporary_database
from barrow.corpus.input.unpack import BadArchive, Member, kind_of, members, open_unpacked
from barrow.corpus.readers.courtlistener.case import (
    Record,
    case_item,
    is_case,
    is_opinion,
    opinion_item,
)
from barrow.corpus.readers.courtlistener.case_xml import case_xml_items
from barrow.corpus.readers.courtlistener.opinion_page import opinion_page
from barrow.corpus.readers.courtlistener.tables import CourtTables, table_of, table_rows
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.encoding import decode
from barrow.corpus.text.whitespace import is_binary
from barrow.corpus.text.xml.repair import declared_encoding

_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst)$", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{[%{][^{}]{0,200}[%}]\}")
_LINK_ID = re.compile(r"(\w+)/?$")
_MAX_LINE = 1 << 27


_ENDINGS = ("json", "jsonl", "ndjson", "csv", "xml", "html", "htm", "tar")


@dataclass(frozen=True)
class CourtListener(Reader):
    """CourtListener and Caselaw Access Project: court opinions in JSON, XML, HTML or CSV tables.

    `max_bytes` bounds what is read at once: a page of HTML or XML, or a JSON file. Reasons: those
    of `unpack` and `csv_records`; ``not-an-opinion``, ``no-text``, ``other-objects``, ``bad-json``,
    ``bad-xml``, ``template``, ``unknown-encoding``, ``not-text``, ``unknown-file``,
    ``unknown-columns``.
    """

    page_marks: bool = False
    max_bytes: int = 1 << 28

    extractor = "courtlistener/3"
    patterns = (
        *(f"**/*.{ending}" for ending in _ENDINGS),
        *(
            f"**/*.{ending}.{packed}"
            for ending in _ENDINGS
            for packed in ("gz", "bz2", "xz", "zst")
        ),
        *("**/*.tgz", "**/*.zip"),
    )

    def read(self, path: Path) -> Iterator[Item]:
        return self.read_group([path])

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        with temporary_database() as database:
            tables = CourtTables(database)
            opinions: list[Path] = []
            for path in paths:
                table = table_of(path)
                if table is None or table[0] == "opinion":
                    opinions.append(path)
                elif opinions or len(paths) > 1:
                    yield from _load(path, table[0], tables)
                else:
                    yield Reject("not-an-opinion", f"the table of {table[0]}s, without opinions")
            reading = _Reading(tables, self.page_marks, self.max_bytes)
            for path in opinions:
                yield from reading.path(path)

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """Group the bulk data's tables of a day; every other file is a group."""
        groups: dict[tuple[Path, str], list[Path]] = {}
        for path in paths:
            table = table_of(path)
            key = (path, "") if table is None else (path.parent, table[1])
            groups.setdefault(key, []).append(path)
        return [tuple(sorted(group)) for group in groups.values()]


def _load(path: Path, name: str, tables: CourtTables) -> Iterator[Reject]:
    try:
        with open_unpacked(path) as file:
            yield from tables.add(name, table_rows(file, path.name))
    except BadArchive as error:
        yield error.as_reject()


class _Reading:
    """How files are read, and the tables read before."""

    def __init__(self, tables: CourtTables, page_marks: bool, max_bytes: int) -> None:
        self._tables = tables
        self._page_marks = page_marks
        self._max_bytes = max_bytes

    def path(self, path: Path) -> Iterator[Item]:
        """The opinions of a file, which may be packed."""
        try:
            if kind_of(path) in ("tar", "zip"):
                for member in members(path):
                    yield from [member] if isinstance(member, Reject) else self._member(member)
            else:
                with open_unpacked(path) as file:
                    yield from self._file(_PACKED.sub("", path.name), file)
        except BadArchive as error:
            yield error.as_reject()

    def _member(self, member: Member) -> Iterator[Item]:
        place = member.name
        for item in self._file(place, member.open()):
            if isinstance(item, Reject):
                inner = f"{place}: {item.member}" if item.member else place
                yield Reject(item.reason, item.cause, inner, item.excerpt)
            else:
                inner = item.meta.get("member", "")
                named = {"member": f"{place}: {inner}" if inner else place}
                yield Document(item.text, item.meta | named)

    def _file(self, name: str, file: BinaryIO) -> Iterator[Item]:
        suffix = name.lower().rpartition(".")[2]
        if suffix == "csv":
            yield from self._table(name, file)
        elif suffix in ("jsonl", "ndjson"):
            yield from self._json_lines(file)
        elif suffix in ("json", "xml", "html", "htm", "xhtml"):
            data = _all_of(file, self._max_bytes)
            if isinstance(data, Reject):
                yield data
            elif suffix == "json":
                yield from self._json(data)
            else:
                yield from self._page(data, is_xml=suffix == "xml")
        else:
            yield Reject("unknown-file", "neither JSON, CSV, XML nor HTML by its name")

    def _table(self, name: str, file: BinaryIO) -> Iterator[Item]:
        for row in table_rows(file, name):
            if isinstance(row, Reject):
                yield row
            elif not is_opinion(row) and "cluster_id" not in row:
                yield Reject("not-an-opinion", "a table, but not that of opinions")
                return
            else:
                joined = self._tables.of_opinion(row)
                yield opinion_item(row, *joined, page_marks=self._page_marks)

    def _json_lines(self, file: BinaryIO) -> Iterator[Item]:
        number = 0
        while line := file.readline(_MAX_LINE):
            number += 1
            if len(line) == _MAX_LINE and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = file.readline(1 << 20)
                yield Reject("too-large", f"over {_MAX_LINE:,} bytes", f"line {number}")
            elif line.strip():
                for item in self._json(line):
                    if isinstance(item, Reject) and not item.member:
                        item = Reject(item.reason, item.cause, f"line {number}", item.excerpt)
                    yield item

    def _json(self, data: bytes) -> Iterator[Item]:
        text = _decoded(data)
        if isinstance(text, Reject):
            yield text
            return
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            lines = text.strip().count("\n")
            if lines and text.lstrip().startswith("{") and "Extra data" in str(error):
                yield from self._json_lines(io.BytesIO(data))  # JSON lines under another name
            else:
                yield Reject("bad-json", str(error)[:200], "", excerpt(text))
            return
        yield from self._objects(_Objects(value))

    def _objects(self, objects: _Objects) -> Iterator[Item]:
        for record in objects.cases:
            yield case_item(record, page_marks=self._page_marks)
        for record in objects.opinions:
            yield opinion_item(record, *objects.of_opinion(record), page_marks=self._page_marks)
        if not objects.cases and not objects.opinions:
            yield Reject("not-an-opinion", f"JSON, but not an opinion: {objects.counted()}")
        elif objects.others:
            yield Reject("other-objects", f"objects that are not opinions: {objects.counted()}")

    def _page(self, data: bytes, *, is_xml: bool) -> Iterator[Item]:
        text = _decoded(data, declared_encoding(data))
        if isinstance(text, Reject):
            yield text
        elif is_xml:
            yield from case_xml_items(text, page_marks=self._page_marks)
        elif _TEMPLATE.search(text):
            yield Reject("template", "a page that is filled in by a script", "", excerpt(text))
        else:
            yield opinion_page(text, page_marks=self._page_marks)


class _Objects:
    """Objects of a JSON file, sorted by what they are."""

    def __init__(self, value: object) -> None:
        self.cases: list[Record] = []
        self.opinions: list[Record] = []
        self.others: Counter[str] = Counter()
        self._known: dict[tuple[str, str], Record] = {}
        self._citations: dict[str, list[Record]] = {}
        # Not recursive: no file has lists of lists of lists.
        values = value if isinstance(value, list) else [value]
        for outer in values:
            page = outer.get("results", outer.get("objects")) if isinstance(outer, dict) else None
            for inner in page if isinstance(page, list) else [outer]:
                self._add(inner)

    def _add(self, value: object) -> None:
        if not isinstance(value, dict):
            self.others[type(value).__name__] += 1
            return
        model = str(value.get("model", "")).rpartition(".")[2]
        record = value
        if isinstance(value.get("fields"), dict):
            record = value["fields"] | {"id": value.get("pk")}
        if is_case(record):
            self.cases.append(record)
        elif is_opinion(record):
            self.opinions.append(record)
        else:
            self._add_other(model or _model(record), record)

    def _add_other(self, model: str, record: dict[str, Any]) -> None:
        subs = record.get("sub_opinions")
        inner = [sub for sub in subs if isinstance(sub, dict)] if isinstance(subs, list) else []
        for sub in inner:
            if is_opinion(sub):
                self.opinions.append({**sub, "cluster": {**record, "sub_opinions": []}})
        if model == "citation":
            self._citations.setdefault(_number(record.get("cluster")), []).append(record)
        self._known[model, _number(record.get("id"))] = record
        if not inner:
            self.others[model] += 1

    def of_opinion(self, opinion: Record) -> tuple[Record, Record, Record]:
        """The cluster, docket and court of an opinion, as far as the file has them."""
        cluster = self._linked("opinioncluster", opinion.get("cluster"), opinion.get("cluster_id"))
        docket = self._linked("docket", cluster.get("docket"), cluster.get("docket_id"))
        court = self._linked("court", docket.get("court"), docket.get("court_id"))
        citations = self._citations.get(_number(cluster.get("id")))
        if citations and not cluster.get("citations"):
            cluster = {**cluster, "citations": citations}
        return cluster, docket, court

    def _linked(self, model: str, link: object, number: object) -> Record:
        """An object nested in another, or referred to by number or address."""
        if isinstance(link, Mapping):
            return link
        return self._known.get(
            (model, _number(link)), self._known.get((model, _number(number)), {})
        )

    def counted(self) -> str:
        """How many objects of each other kind there are."""
        return ", ".join(f"{kind} {num}" for kind, num in sorted(self.others.items())) or "nothing"


def _model(record: Record) -> str:
    if "sub_opinions" in record or ("case_name" in record and "precedential_status" in record):
        return "opinioncluster"
    if "decision_date" in record:
        return "case"
    if "docket_number" in record and "court" in record:
        return "docket"
    return "court" if "citation_string" in record and "full_name" in record else "object"


def _number(link: object) -> str:
    """The last part of an address such as ``…/clusters/112/``, or the number itself."""
    if isinstance(link, int):
        return str(link) if abs(link) < 10**18 else ""
    found = _LINK_ID.search(link[-100:]) if isinstance(link, str) else None
    return found[1] if found else ""


def _all_of(file: BinaryIO, max_bytes: int) -> bytes | Reject:
    pieces: list[bytes] = []
    size = 0
    while piece := file.read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            return Reject("too-large", f"more than {max_bytes:,} bytes", "", excerpt(pieces[0]))
    return b"".join(pieces) or Reject("empty", "the file is empty")


def _decoded(data: bytes, declared: str | None = None) -> str | Reject:
    found = decode(data, declared)
    if found is None:
        return Reject("unknown-encoding", "unknown encoding", "", excerpt(data))
    if is_binary(found[0]):
        return Reject("not-text", "mostly control characters", "", excerpt(data))
    return found[0]
