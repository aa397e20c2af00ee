"""NIH ExPORTER: abstracts of funded projects, CSV files by fiscal year, zipped or not.

``RePORTER_PRJABS_C_FY2020.csv`` has APPLICATION_ID and ABSTRACT_TEXT; ``RePORTER_PRJ_C_FY2020.csv``
beside it has PROJECT_TITLE, which becomes the title. Files are UTF-8 or Windows-1252, some of them
both. An abstract is a document; its application id is the member. A second one of the same id is
dropped, as are those under `min_characters`. Taken off are headings (``DESCRIPTION (provided by
applicant):``, ``PROJECT SUMMARY/ABSTRACT``), ``[unreadable]``, and the paragraph about subprojects
that thousands of abstracts begin with.

Licence: abstracts are published by the NIH; works of the US government are in the public domain.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from barrow.archive import Document
from barrow.corpus.input.csv import BadRecord, csv_records
from barrow.corpus.input.spill import temporary_database
from barrow.corpus.input.unpack import BadArchive, kind_of, members, open_unpacked
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.whitespace import tidy

_MAX_RECORD = 1 << 20
_ID, _ABSTRACT, _TITLE = b"APPLICATION_ID", b"ABSTRACT_TEXT", b"PROJECT_TITLE"

_HEADING = re.compile(
    r"(?:\d{1,2}\. )?(?:DESCRIPTION(?::? ?\([^():]{1,120}\)?)?|ABSTRACT|Abstract|SUMMARY|Summary"
    r"|(?:PROJECT|Project) (?:SUMMARY|Summary)(?: ?/ ?[A-Za-z]{1,12})?(?: ?\([^()]{1,60}\))?)"
    r"(?: ?: ?|\.? (?=[A-Z0-9\"'(\[])|\n+)"
)
_NO_ABSTRACT = re.compile(
    r"(?:no abstract|abstract not|n/?a\b|none\b|not available)", re.IGNORECASE
)
_SUBPROJECT = "This subproject is one of many research subprojects"
_SUBPROJECT_END = "institution for the investigator."
_BLANKS = re.compile(r"[^\S\n]+")


@dataclass(frozen=True)
class NihExporter(Reader):
    """NIH ExPORTER: the grant abstracts of a year, with titles from the file of projects.

    Ids and titles are kept in a database that goes to disk beyond 32 MiB: 10 bytes an id.
    """

    min_characters: int = 100

    extractor = "nih_exporter/1"
    patterns = ("**/*PRJ*.csv", "**/*PRJ*.zip", "**/*PRJ*.csv.gz")

    def read(self, path: Path) -> Iterator[Item]:
        return self.read_group([path])

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        with temporary_database() as database:
            database.execute("CREATE TABLE seen (id INTEGER PRIMARY KEY)")
            database.execute("CREATE TABLE titles (id INTEGER PRIMARY KEY, title TEXT)")
            projects = [path for path in paths if _is_of_projects(path)]
            for path in projects if len(projects) < len(paths) else ():
                yield from _load_titles(path, database)
            for path in paths:
                if path not in projects or len(projects) == len(paths):
                    yield from _abstracts(path, database, self.min_characters)

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """Abstracts and projects of the same year go together, abstracts first."""
        groups: dict[str, list[Path]] = {}
        for path in paths:
            year = path.name.upper().split(".", 1)[0].replace("_PRJABS_", "_PRJ_")
            groups.setdefault(f"{path.parent}/{year}", []).append(path)
        return [tuple(sorted(group, key=_is_of_projects)) for group in groups.values()]


def _is_of_projects(path: Path) -> bool:
    return "_PRJ_" in path.name.upper()


def _load_titles(path: Path, database: sqlite3.Connection) -> Iterator[Reject]:
    for row in _rows(path, _TITLE):
        if isinstance(row, Reject):
            yield row
        else:
            number, title, _ = row
            values = (number, _one_line(title))
            database.execute("INSERT OR IGNORE INTO titles VALUES (?, ?)", values)


def _abstracts(path: Path, database: sqlite3.Connection, min_characters: int) -> Iterator[Item]:
    for row in _rows(path, _ABSTRACT):
        if isinstance(row, Reject):
            yield row
            continue
        number, data, member = row
        text = _clean(_decode(data))
        if not text or (len(text) < 200 and _NO_ABSTRACT.match(text)):
            yield Reject("empty", "no abstract", member, excerpt(text))
        elif len(text) < min_characters:
            yield Reject("too-short", f"{len(text)} characters", member, excerpt(text))
        elif not database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (number,)).rowcount:
            cause = "an abstract of this application came before"
            yield Reject("duplicate-id", cause, member, excerpt(text))
        else:
            found = database.execute("SELECT title FROM titles WHERE id = ?", (number,)).fetchone()
            meta = {"member": member}
            if found and found[0]:
                meta["title"] = found[0]
            yield Document(text, meta)


def _rows(path: Path, column: bytes) -> Iterator[tuple[int, bytes, str] | Reject]:
    """Id, value of a column, and the id as text, of each record in a file or zip."""
    try:
        if kind_of(path) in ("zip", "tar"):
            for member in members(path):
                if isinstance(member, Reject):
                    yield member
                elif member.name.lower().endswith(".csv"):
                    yield from _rows_of_csv(member.open(), column)
                else:
                    yield Reject("unknown-file", "not a .csv", member.name)
        else:
            with open_unpacked(path) as file:
                yield from _rows_of_csv(file, column)
    except BadArchive as error:
        yield error.as_reject()


def _rows_of_csv(file: BinaryIO, column: bytes) -> Iterator[tuple[int, bytes, str] | Reject]:
    places: tuple[int, int, int] | None = None
    for record in csv_records(file, max_record=_MAX_RECORD):
        if isinstance(record, BadRecord):
            member = f"line {record.line}"
            yield Reject(record.reason, record.cause, member, excerpt(record.start))
        elif places is None:
            names = [name.strip().upper() for name in record]
            if _ID not in names or column not in names:
                wanted = f"{_ID.decode()} and {column.decode()}"
                shown = excerpt(b",".join(record))
                yield Reject("unknown-columns", f"the first line does not name {wanted}", "", shown)
                return
            places = names.index(_ID), names.index(column), len(names)
        elif len(record) != places[2]:
            cause = f"{len(record)} fields; the first line names {places[2]}"
            yield Reject("malformed", cause, "", excerpt(b",".join(record)))
        else:
            member = record[places[0]].strip().decode("ascii", "replace")
            if member.isascii() and member.isdigit() and len(member) <= 18:
                yield int(member), record[places[1]], member
            else:
                yield Reject("bad-id", "the id is not a number", "", excerpt(b",".join(record)))
    if places is None:
        yield Reject("empty", "the file has no records")


def _decode(data: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def _one_line(data: bytes) -> str:
    return " ".join(tidy(_decode(data)).split())


def _clean(text: str) -> str:
    """An abstract without the additions of its form."""
    text = text.replace("[unreadable]", " ")
    text = tidy(_BLANKS.sub(" ", text).replace("\n ", "\n")).strip()
    if text.startswith(_SUBPROJECT) and (end := text.find(_SUBPROJECT_END, 0, 1000)) > 0:
        text = text[end + len(_SUBPROJECT_END) :].lstrip()
    for _ in range(3):
        text = text[heading.end() :].lstrip() if (heading := _HEADING.match(text)) else text
    text = text.lstrip(":;., ")
    for ending in ("(End of Abstract)", "(End of abstract)", "End of Abstract", "End of abstract."):
        text = text.removesuffix(ending).rstrip()
    return text
