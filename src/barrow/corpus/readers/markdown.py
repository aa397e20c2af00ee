"""Markdown and reStructuredText: one document per file, as it is written.

The markup stays, because people read it. YAML front matter between ``---`` lines is taken off; its
``title``, ``date``, ``lang`` and ``license`` go into `meta`, other keys are dropped. Without front
matter the first heading is the title. The licence is that of the file if it states one, else the
recipe's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.archive import Document
from barrow.corpus.readers.plain_text import read_text
from barrow.corpus.readers.reader import Item, Reader, Reject
from barrow.corpus.text.whitespace import tidy

_FIELD = re.compile(r"([A-Za-z][\w-]{0,40}):[ \t]*(.*)")
_ATX_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+])\1{2,}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_RENAMED = {"lang": "language", "license": "licence"}
_MAX_FRONT_MATTER = 200


@dataclass(frozen=True)
class Markdown(Reader):
    """Markdown and reStructuredText: a document per file, without front matter."""

    max_bytes: int = 1 << 26

    extractor = "markdown/2"
    patterns = ("**/*.md", "**/*.markdown", "**/*.rst")

    def read(self, path: Path) -> Iterator[Item]:
        found = read_text(path, self.max_bytes)
        if isinstance(found, Reject):
            yield found
            return
        lines = tidy(found[0]).split("\n")
        meta, body = _front_matter(lines)
        if "title" not in meta and (title := _title(body)):
            meta["title"] = title
        yield Document("\n".join(body).strip("\n"), meta)


def _front_matter(lines: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Settings of the front matter that are plain ``key: value``, and the lines after it."""
    if lines[:1] != ["---"]:
        return {}, lines
    ends = [k for k, line in enumerate(lines[:_MAX_FRONT_MATTER]) if k and line in ("---", "...")]
    if not ends:
        return {}, lines
    end = ends[0]
    meta: dict[str, Any] = {}
    for line in lines[1:end]:
        if field := _FIELD.fullmatch(line):
            key, value = field[1].lower(), field[2].strip("\"'")
            if value and (key != "date" or _DATE.match(value)):
                meta[_RENAMED.get(key, key)] = value
    return meta, lines[end + 1 :]


def _title(lines: list[str]) -> str | None:
    """The first heading among the first lines."""
    for above, line in zip(["", *lines[:30]], lines[:31], strict=False):
        if heading := _ATX_HEADING.fullmatch(line):
            return heading[1]
        if above.strip() and _UNDERLINE.fullmatch(line) and len(line) >= len(above.rstrip()) - 2:
            return above.strip()
    return None
