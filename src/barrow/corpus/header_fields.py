"""Fields of a WARC or HTTP header, each found when it is asked for.

A header has a dozen fields or two, of which few are looked at: finding these is faster than reading
all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from barrow.corpus.header_scan import field

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
