"""Records, ends of headers, and header fields: the fast path for every record of a WARC."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import NotImplementedType

_HEADER_END = re.compile(rb"\n\r?\n")
_RECORD_ENDS = frozenset([b"\r\n\r\nWARC/", b"\r\n\r\n"])  # in the middle, and at the end


def field(header: bytes, name: bytes, /) -> bytes | NotImplementedType | None:
    """The value of the first field of a name in lower case; None without one.

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


_FIELD = re.compile(rb"^([!-9;-~]++)[ \t]*+:[ \t]*+([^\r\n]*+)", re.MULTILINE)
_FOLD = re.compile(rb"\r?\n[ \t]++")


def header_fields(header: bytes) -> Mapping[bytes, bytes]:
    """Fields by lower-case name. Of two with one name the first counts; folded lines are joined."""
    return _HeaderFields(header)


class _HeaderFields(Mapping[bytes, bytes]):
    __slots__ = ("_all", "_header")

    def __init__(self, header: bytes) -> None:
        self._header = header
        self._all: dict[bytes, bytes] | None = None

    def get(self, name: bytes, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        value = field(self._header, name)
        if value is None:
            return default
        return value if isinstance(value, bytes) else self._read().get(name, default)

    def _read(self) -> dict[bytes, bytes]:
        if self._all is None:
            found = _FIELD.findall(_FOLD.sub(b" ", self._header))
            found.reverse()
            self._all = {name.lower(): value.rstrip() for name, value in found}
        return self._all

    def __getitem__(self, name: bytes) -> bytes:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, bytes) and self.get(name) is not None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())
