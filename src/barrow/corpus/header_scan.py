"""Finding records, ends of headers, and fields in them: what is done for every record of a WARC."""

from __future__ import annotations

import re
from functools import lru_cache
from types import NotImplementedType

_HEADER_END = re.compile(rb"\n\r?\n")
_RECORD_ENDS = frozenset([b"\r\n\r\nWARC/", b"\r\n\r\n"])  # in the middle, and at the end


def field(header: bytes, name: bytes, /) -> bytes | NotImplementedType | None:
    """The value of the first field of a name, which is in lower case; None if there is none.

    NotImplemented if lines may have to be joined first.
    """
    found = _field(name).search(b"\n" + header)
    if found is None:
        return None
    end = header.find(b"\n", found.end() - 1)
    is_folded = end >= 0 and header[end + 1 : end + 2] in (b" ", b"\t")
    return NotImplemented if found[1] is None or is_folded else found[1].rstrip()


@lru_cache(64)
def _field(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\n(?i:%b)[ \t]*+(?::[ \t]*+([^\r\n]*+)|(?=[\r\n]))" % re.escape(name))


def header_end(data: bytes, start: int, stop: int, /) -> int:
    """The place after the empty line that ends a header in ``data[start:stop]``, or -1."""
    found = _HEADER_END.search(data, start, stop)
    return found.end() if found else -1


def whole_record(data: bytes, at: int, max_header: int, /) -> tuple[int, int] | None:
    """Where the content of the WARC record at `at` begins and ends.

    None unless all of it is there, the two empty lines after it, and another record after these or
    nothing.
    """
    if not data.startswith(b"WARC/", at):
        return None
    start = header_end(data, at, at + max_header)
    length = field(data[at:start], b"content-length") if start >= 0 else None
    if not isinstance(length, bytes) or not length.isdigit() or len(length) > 18:
        return None
    stop = start + int(length)
    return (start, stop) if data[stop : stop + 9] in _RECORD_ENDS else None
