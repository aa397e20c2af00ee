"""The rows of an XML table, one element per line, as in database dumps.

Expat spends much of its time on what a row cannot have. So a line that certainly is one row is cut
at its quotation marks, and expat parses every other line: alone, if it is a whole element, or else
with all that follow.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, cast

from barrow.corpus.input.decompress import PieceFile
from barrow.corpus.text.xml.events import BadXml, Start, xml_events

_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml version=\"1\.0\" encoding=\"(?i:utf-8)\"\?>\s*")
_OPENING = re.compile(rb"<([a-zA-Z]+)>\s*")
_MAX_LINE = 1 << 27
_MAX_NAMES = 1000

_CONTROLS = bytes(range(0x20))  # not allowed, but for tabs, which expat would make spaces
_SPECIALS = b"\xef\xbf"  # the beginning of U+FFFE and U+FFFF, which are noncharacters
_NAME = re.compile(r" ([A-Za-z]++)=")
_FREQUENT = (("&lt;", "<"), ("&gt;", ">"), ("&#xA;", "\n"), ("&quot;", '"'))
_RARE = (("&#xD;", "\r"), ("&apos;", "'"), ("&#x9;", "\t"))


def row_attributes(file: BinaryIO) -> Iterator[dict[str, str]]:
    """The attributes of every ``<row>``; as `xml_events` has them.

    Raises `BadXml` at the first error, after the rows before it.
    """
    prolog = file.readline(1000)
    opening = file.readline(1000)
    table = _OPENING.fullmatch(opening)
    if not _PROLOG.fullmatch(prolog) or table is None:
        yield from _with_expat(chain((prolog, opening), _pieces(file)))
        return
    name = table[1]
    names: dict[str, str] = {}
    while line := file.readline(_MAX_LINE):
        row = _certain_row(line, names)
        if row is None:
            row = _row_alone(line)
        if row is None:
            yield from _with_expat(chain((b"<", name, b">", line), _pieces(file)))
            return
        yield row
    raise BadXml(f"the file ends inside <{name.decode()}>")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(1 << 16):
        yield piece


def _with_expat(pieces: Iterator[bytes]) -> Iterator[dict[str, str]]:
    for event in xml_events(cast(BinaryIO, PieceFile(pieces))):
        if isinstance(event, Start) and event.name == "row":
            yield event.attributes


def _certain_row(line: bytes, names: dict[str, str]) -> dict[str, str] | None:
    """The attributes, if the line is one row without anything unusual.

    `names` caches the name in the text before a value: `` Id=`` names Id.
    """
    line = line.rstrip(b"\r\n")
    if (
        line.count(b"<") != 1
        or len(line.translate(None, _CONTROLS)) != len(line)
        or _SPECIALS in line
    ):
        return None
    try:
        parts = line.decode().split('"')
    except UnicodeDecodeError:
        return None
    parts[0] = parts[0].lstrip(" ")
    if not parts[0].startswith("<row") or parts.pop() not in (" />", "/>"):
        return None
    parts[0] = parts[0][4:]
    row: dict[str, str] = {}
    for before, value in zip(parts[::2], parts[1::2], strict=False):
        name = names.get(before) or _learn(before, names)
        resolved = _resolved(value) if "&" in value else value
        if name is None or resolved is None:
            return None
        row[name] = resolved
    return row if 2 * len(row) == len(parts) else None  # an attribute twice is an error


def _learn(before: str, names: dict[str, str]) -> str | None:
    found = _NAME.fullmatch(before)
    if found is None or len(names) > _MAX_NAMES:
        return None
    return names.setdefault(before, found[1])


def _resolved(value: str) -> str | None:
    """The value with references resolved; None if one is unusual."""
    for reference, character in _FREQUENT:
        value = value.replace(reference, character)
    if "&" not in value:
        return value
    for reference, character in _RARE:
        value = value.replace(reference, character)
    if value.count("&") != value.count("&amp;"):
        return None
    return value.replace("&amp;", "&")  # last, or what it leaves would be taken for a reference


def _row_alone(line: bytes) -> dict[str, str] | None:
    if not line.lstrip(b" ").startswith(b"<row"):
        return None
    try:
        events = [*xml_events(io.BytesIO(line))]
    except BadXml:
        return None
    starts = [event for event in events if isinstance(event, Start)]
    return starts[0].attributes if len(starts) == 1 and starts[0].name == "row" else None
