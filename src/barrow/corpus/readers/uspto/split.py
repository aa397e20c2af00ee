"""Splits a week of patents, a concatenation of documents, without loading it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Literal, NamedTuple

_PIECE = 1 << 20
_HEAD = 1 << 16
_EXCERPT = 4096

Form = Literal["xml", "sgml", "lines", "unknown"]

# What a document begins with. The first of them found in a file is what all of its documents begin
# with: in XML a document type follows the declaration, in the SGML of 2001 it is all there is.
_MARKS: tuple[tuple[bytes, Form], ...] = (
    (b"<?xml ", "xml"),
    (b"<us-patent-grant ", "xml"),
    (b"<us-patent-application ", "xml"),
    (b"<patent-application-publication", "xml"),
    (b"<!DOCTYPE PATDOC", "sgml"),
    (b"<PATDOC", "sgml"),
    (b"\nPATN", "lines"),
    (b"\nWKU ", "lines"),
)


class Piece(NamedTuple):
    """A document's bytes; only their beginning unless `is_whole`."""

    form: Form
    data: bytes
    is_whole: bool = True


def split_patents(file: BinaryIO, *, max_bytes: int) -> Iterator[Piece]:
    """The documents of a file, at most `max_bytes` of each in memory.

    What precedes the first, such as the Greenbook's line about the issue, is left out. A file in
    which no document begins is one piece of form ``unknown``.
    """
    buffer = bytearray(b"\n")  # so that a tag in the first line begins a line
    while len(buffer) < _HEAD and (data := file.read(_HEAD)):
        buffer += data
    found = [(at, mark, form) for mark, form in _MARKS if (at := buffer.find(mark)) >= 0]
    if not found:
        yield Piece("unknown", bytes(buffer[1:_EXCERPT]), is_whole=False)
        return
    start, mark, form = min(found)
    del buffer[:start]
    searched, is_skipping = len(mark), False
    while True:
        end = buffer.find(mark, searched)
        if end >= 0:
            if not is_skipping:
                yield _piece(form, buffer[:end], max_bytes)
            del buffer[:end]
            searched, is_skipping = len(mark), False
            continue
        if not is_skipping and len(buffer) > max_bytes:
            yield _piece(form, buffer, max_bytes)
            is_skipping = True
        if is_skipping:
            del buffer[: -len(mark)]
            searched = 0
        else:
            searched = max(searched, len(buffer) - len(mark) + 1)
        data = file.read(_PIECE)
        if not data:
            break
        buffer += data
    if not is_skipping:
        yield _piece(form, buffer, max_bytes)


def _piece(form: Form, data: bytearray, max_bytes: int) -> Piece:
    is_whole = len(data) <= max_bytes
    return Piece(form, bytes(data if is_whole else data[:_EXCERPT]).lstrip(b"\n"), is_whole)
