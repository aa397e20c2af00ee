"""Lists of links: the scores of web pages, and which file is which page.

A list has one object per line. With `url` and `score` it is a submitted link, as in dumps of
Reddit (`title`, `subreddit`, `over_18`, `is_self`); with `file` and `url` it says where the page of
an address is stored, relative to the list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple

from barrow.corpus.input.json_lines import json_lines
from barrow.corpus.input.spill import temporary_database
from barrow.corpus.readers.reader import Reject, excerpt
from barrow.corpus.readers.web_pages.address import parse_address


class Submissions(NamedTuple):
    """What was said of a page: the sum of scores, how many times, whether ever for adults."""

    score: int
    num: int
    over_18: bool


class PageLists:
    """Scores by address and addresses by file; on disk where they are many."""

    def __init__(self, database: Connection) -> None:
        self._database = database
        (self.has_scores,) = database.execute("SELECT EXISTS (SELECT 1 FROM page)").fetchone()

    def url_of(self, path: Path) -> str:
        """The address of a stored page; empty if no list names the file."""
        row = self._database.execute("SELECT url FROM file WHERE path = ?", (_name(path),))
        found = row.fetchone()
        return str(found[0]) if found else ""

    def submissions_of(self, url: str) -> Submissions | None:
        """The entry of an address; None if it was not submitted."""
        address = parse_address(url)
        if address is None:
            return None
        row = self._database.execute(
            "SELECT score, num, over_18 FROM page WHERE key = ?", (address.key,)
        ).fetchone()
        return Submissions(row[0], row[1], bool(row[2])) if row else None


@contextmanager
def open_page_lists(paths: Sequence[Path]) -> Iterator[PageLists]:
    """The lists of these files together. What is wrong in them, `bad_lines` tells."""
    with temporary_database() as database:
        database.execute("CREATE TABLE file (path TEXT PRIMARY KEY, url TEXT) WITHOUT ROWID")
        database.execute(
            "CREATE TABLE page (key TEXT PRIMARY KEY, score INTEGER, num INTEGER, over_18 INTEGER)"
            " WITHOUT ROWID"
        )
        for path in paths:
            _load(path, database)
        yield PageLists(database)


def bad_lines(path: Path) -> Iterator[Reject]:
    """The lines of a list that say nothing: ``bad-json``, ``bad-record``, or the file's fault."""
    for line in json_lines(path):
        if isinstance(line, Reject):
            yield line
        elif _entry(path, line[1]) is None:
            cause = "neither url with score nor file with url"
            yield Reject("bad-record", cause, f"line {line[0]}", excerpt(str(line[1])))


def _load(path: Path, database: Connection) -> None:
    for line in json_lines(path):
        entry = None if isinstance(line, Reject) else _entry(path, line[1])
        if entry is None:
            continue
        file, url, key, score, over_18 = entry
        if file:
            database.execute("INSERT OR IGNORE INTO file VALUES (?, ?)", (file, url))
        if score is not None:
            database.execute(
                "INSERT INTO page VALUES (?, ?, 1, ?) ON CONFLICT (key) DO UPDATE SET"
                " score = score + excluded.score, num = num + 1,"
                " over_18 = max(over_18, excluded.over_18)",
                (key, score, over_18),
            )


def _entry(path: Path, record: dict[str, Any]) -> tuple[str, str, str, int | None, bool] | None:
    """Stored file, address, its key, score, whether for adults; None if it says nothing.

    A submission of text (`is_self`) is not a link to a page: it has no score here.
    """
    url, file, score = record.get("url"), record.get("file"), record.get("score")
    address = parse_address(url) if isinstance(url, str) else None
    if address is None:
        return ("", "", "", None, False) if record.get("is_self") is True else None
    stored = _name(path.parent / file) if isinstance(file, str) and "\0" not in file else ""
    is_score = isinstance(score, int) and not isinstance(score, bool) and abs(score) < 1 << 40
    if not stored and not is_score:
        return None
    if not is_score or record.get("is_self") is True:
        score = None
    return stored, str(url).strip(), address.key, score, record.get("over_18") is True


def _name(path: Path) -> str:
    """A path as text for a table, the same however it was written."""
    name = os.path.normpath(os.path.abspath(path))  # noqa: PTH100 - links are not followed
    return os.fsencode(name).decode("utf-8", "backslashreplace")
