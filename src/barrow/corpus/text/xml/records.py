"""The records of an XML file of any size, one after the other, unparsed."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

from barrow.corpus.readers.reader import Reject, excerpt
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.repair import declared_encoding

_PIECE = 1 << 20
_TAIL = 64  # longer than any name searched for
_UTF16 = (
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)


def xml_records(
    file: BinaryIO, names: tuple[str, ...], *, max_bytes: int = 1 << 26
) -> Iterator[bytes | Reject]:
    """Outermost elements of these names, cut at their tags; in UTF-8 if the encoding is declared.

    What is around them is ignored, but a file that declares entities is refused (`BadXml`). A
    broken record does not affect others: the caller parses each. One larger than `max_bytes` is a
    reject, ``too-large``; one in which the file ends, ``truncated``.
    """
    pieces = _pieces(file)
    begins = re.compile(b"<!--|<(%s)(?=[\\s/>])" % "|".join(map(re.escape, names)).encode())
    held = bytearray()
    position = 0  # all before it is done
    is_first = True
    while True:
        found = begins.search(held, position)
        if is_first and b"<!ENTITY" in held[: found.start() if found else None]:
            raise BadXml("declares entities, which are not read")
        if found is None:
            del held[: max(position, len(held) - _TAIL)]
            position = 0
            if not (piece := next(pieces, b"")):
                return
            held += piece
            continue
        start, name = found.start(), found[1]
        del found  # it holds the buffer, which could not grow
        del held[:start]
        end = b"</%s>" % name if name else b"-->"
        searched = 0
        is_large, shown = False, ""
        while (at := held.find(end, searched)) < 0 and (piece := next(pieces, b"")):
            if len(held) > max_bytes and not is_large:
                is_large = True
                shown = excerpt(bytes(held[:2000]))
            if is_large:
                del held[: -len(end)]
            searched = max(0, len(held) - len(end))
            held += piece
        if name and (is_large or at + len(end) > max_bytes):
            shown = shown or excerpt(bytes(held[:2000]))
            yield Reject("too-large", f"more than {max_bytes:,} bytes", "", shown)
        elif name and at < 0:
            shown = excerpt(bytes(held[:2000]))
            yield Reject("truncated", "the file ends inside it", "", shown)
        elif name:
            is_first = False
            with memoryview(held) as view:
                record = bytes(view[: at + len(end)])
            yield record
        if at < 0:
            return
        position = at + len(end)


def _encoding(head: bytes) -> str | None:
    """The encoding of the file; None for UTF-8, and if it is unknown."""
    for mark, name in _UTF16:
        if head.startswith(mark):
            return name
    declared = declared_encoding(head)
    if declared is None:
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return declared
    return None


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    piece = file.read(_PIECE)
    encoding = _encoding(piece)
    if encoding is None:
        while piece:
            yield piece
            piece = file.read(_PIECE)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece:
        if text := decoder.decode(piece):
            yield text.encode("utf-8", "replace")
        piece = file.read(_PIECE)
