"""CourtListener's bulk data: tables in CSV, an opinion's cluster, docket and court in other files.

Rows about cases are kept in a temporary database, by number, until the opinions are read.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from barrow.corpus.input.csv import BadRecord, Dialect, csv_records
from barrow.corpus.readers.reader import Reject, excerpt

_NAME = re.compile(
    r"(?:search_)?(opinions?|opinion-?clusters?|dockets?|courts?|citations?)"
    r"(-\d{4}-\d\d-\d\d)?\.csv(?:\.(?:bz2|gz|xz|zst))?",
    re.IGNORECASE,
)
# What is kept of each table.
_KEPT = {
    "opinioncluster": ("case_name", "case_name_full", "date_filed", "judges", "docket_id"),
    "docket": ("court_id", "docket_number", "case_name"),
    "court": ("full_name",),
    "citation": ("volume", "reporter", "page"),
}
# Written out for each table: statements are not put together at run time.
_CREATE = (
    "CREATE TABLE opinioncluster (id PRIMARY KEY, record TEXT)",
    "CREATE TABLE docket (id PRIMARY KEY, record TEXT)",
    "CREATE TABLE court (id PRIMARY KEY, record TEXT)",
    "CREATE TABLE citation (id, record TEXT)",
)
_INSERT = {
    "opinioncluster": "INSERT OR IGNORE INTO opinioncluster VALUES (?, ?)",
    "docket": "INSERT OR IGNORE INTO docket VALUES (?, ?)",
    "court": "INSERT OR IGNORE INTO court VALUES (?, ?)",
    "citation": "INSERT INTO citation VALUES (?, ?)",
}
_SELECT = {
    "opinioncluster": "SELECT record FROM opinioncluster WHERE id = ?",
    "docket": "SELECT record FROM docket WHERE id = ?",
    "court": "SELECT record FROM court WHERE id = ?",
    "citation": "SELECT record FROM citation WHERE id = ? ORDER BY rowid",
}
_MAX_RECORD = 1 << 26
_HEAD = 1 << 20
_BATCH = 1000


def table_of(path: Path) -> tuple[str, str] | None:
    """The table and date of a file, by its name; None for other files."""
    found = _NAME.fullmatch(path.name)
    return (found[1].lower().rstrip("s").replace("-", ""), found[2] or "") if found else None


def table_rows(file: BinaryIO, name: str) -> Iterator[dict[str, str] | Reject]:
    """Each row by the names in the first line; empty values are left out."""
    columns: list[str] | None = None
    peeked = _Peeked(file)
    dialect = _dialect(peeked.head)
    for record in csv_records(cast(BinaryIO, peeked), max_record=_MAX_RECORD, dialect=dialect):
        if isinstance(record, BadRecord):
            yield Reject(record.reason, record.cause, f"line {record.line}", excerpt(record.start))
            continue
        values = [value.decode("utf-8", "replace") for value in record]
        if columns is None:
            columns = [value.strip().lower() for value in values]
            if "id" not in columns:
                cause = "the first line does not name the columns"
                yield Reject("unknown-columns", cause, name, excerpt(",".join(values)))
                return
        elif len(values) != len(columns):
            cause = f"{len(values)} fields; the first line names {len(columns)}"
            yield Reject("malformed", cause, name, excerpt(",".join(values)))
        else:
            yield {key: value for key, value in zip(columns, values, strict=True) if value}


class _Peeked:
    """A file whose beginning was already read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        pieces: list[bytes] = []
        while sum(map(len, pieces)) < _HEAD and (piece := file.read(_HEAD)):
            pieces.append(piece)
        self.head = b"".join(pieces)
        self._waiting = io.BytesIO(self.head)

    def readline(self, size: int) -> bytes:
        """As a file's: the next line, or its first `size` bytes."""
        line = self._waiting.readline(size)
        if not line.endswith(b"\n") and len(line) < size:
            line += self._file.readline(size - len(line))
        return line


def _dialect(head: bytes) -> Dialect:
    """How a table is quoted, which has changed over the years.

    In 2023 as in RFC 4180, in 2024 with backticks, since with quotes and backslashes before them.
    """
    quote = b"`" if head.count(b",`") > head.count(b',"') else b'"'
    doubled = len(re.findall(rb"[^,]%b%b[^,\r\n]" % (quote, quote), head))
    return Dialect(quote, b"\\" if head.count(b"\\" + quote) >= doubled else quote)


class CourtTables:
    """Clusters, dockets, courts and citations by number."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        for statement in _CREATE:
            database.execute(statement)

    def add(self, name: str, rows: Iterator[dict[str, str] | Reject]) -> Iterator[Reject]:
        """Add the rows of a table; yields rejects for bad ones."""
        batch: list[tuple[str, str]] = []
        for row in rows:
            if isinstance(row, Reject):
                yield row
                continue
            number = row.get("cluster_id" if name == "citation" else "id", "")
            batch.append((number, json.dumps([row.get(key, "") for key in _KEPT[name]])))
            if len(batch) == _BATCH:
                self._database.executemany(_INSERT[name], batch)
                batch.clear()
        self._database.executemany(_INSERT[name], batch)
        if name == "citation":
            self._database.execute("CREATE INDEX IF NOT EXISTS by_cluster ON citation (id)")

    def of_opinion(self, opinion: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """The cluster with its citations, the docket and the court of an opinion."""
        number = str(opinion.get("cluster_id", ""))
        cluster: dict[str, Any] = self._one("opinioncluster", number)
        docket = self._one("docket", str(cluster.get("docket_id", "")))
        court = self._one("court", str(docket.get("court_id", "")))
        cluster["citations"] = list(self._all("citation", number))
        return cluster, docket, court

    def _one(self, name: str, number: str) -> dict[str, Any]:
        return next(self._all(name, number), {})

    def _all(self, name: str, number: str) -> Iterator[dict[str, Any]]:
        found = self._database.execute(_SELECT[name], (number,))
        for (record,) in found.fetchall():
            yield dict(zip(_KEPT[name], json.loads(record), strict=True))
