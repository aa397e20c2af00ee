"""Records of the MEDLINE text format: ``PMID- 123``, ``TI  - …``, continuation lines indented."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from barrow.corpus.readers.reader import Reject, excerpt
from barrow.corpus.text.encoding import decode_short

Fields = dict[str, list[str]]  # by tag, in the order of the file

_FIELD = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)", re.DOTALL)
_FIRST = re.compile(rb"[\s\xef\xbb\xbf]*+[A-Z][A-Z0-9]{1,3} {0,2}- ")
_LINE = 1 << 16


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
