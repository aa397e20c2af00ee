"""The directory of a zip file, read an entry at a time.

`zipfile` reads the whole directory at once, stops at a name in a wrong encoding, and lets some
decompressors expand without bound. Here one entry is held at a time. Reading goes by the directory
at the end, so a zip that was cut off cannot be read at all.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from barrow.corpus.input.decompress import BadArchive, Readable

METHODS: dict[int, str | None] = {
    0: None,
    8: "deflate",
    12: "bzip2",
    93: "zstandard",
    95: "xz",
}

_END = struct.Struct("<4s4H2LH")
_END64_PLACE = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_MAX_COMMENT = 0xFFFF
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UTF8 = 0x800
_UNIX = 3


class Seekable(Readable, Protocol):
    """A file read at any place."""

    def seek(self, position: int, whence: int = 0, /) -> int: ...


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """An entry of the directory; `kind` as in a tar, `size` what it says it unpacks to."""

    name: bytes
    size: int
    kind: str
    is_utf8: bool
    is_encrypted: bool
    method: int
    packed_size: int
    crc: int
    header_at: int


def zip_entries(file: Seekable, *, max_entries: int) -> Iterator[ZipEntry]:
    """Each entry of the directory, in its order. The file may be moved between two of them."""
    at, end = _directory(file)
    number = 0
    while at < end:
        number += 1
        if number > max_entries:
            raise BadArchive(f"more than {max_entries:,} entries", reason="bomb")
        fields = _ENTRY.unpack(_read(file, at, _ENTRY.size))
        if fields[0] != b"PK\1\2":
            raise BadArchive("the zip's directory is damaged", reason="corrupt")
        sizes = fields[10:13]  # of name, extra fields and comment
        rest = _read(file, at + _ENTRY.size, sizes[0] + sizes[1])
        yield _entry(fields, rest[: sizes[0]], rest[sizes[0] :])
        at += _ENTRY.size + sum(sizes)


def content_at(file: Seekable, entry: ZipEntry) -> int:
    """Where the packed bytes of an entry begin."""
    fields = _LOCAL.unpack(_read(file, entry.header_at, _LOCAL.size))
    if fields[0] != b"PK\3\4":
        raise BadArchive("no file at an offset of the zip's directory", reason="corrupt")
    return int(entry.header_at + _LOCAL.size + fields[9] + fields[10])


def _read(file: Seekable, at: int, size: int) -> bytes:
    file.seek(at)
    data = file.read(size)
    if len(data) < size:
        raise BadArchive("the zip's directory points past its end", reason="corrupt")
    return data


def _directory(file: Seekable) -> tuple[int, int]:
    """Where the directory begins and ends."""
    length = file.seek(0, 2)
    tail_at = max(0, length - _END.size - _MAX_COMMENT)
    tail = _read(file, tail_at, length - tail_at)
    found = tail.rfind(b"PK\5\6")
    if found < 0 or found + _END.size > len(tail):
        raise BadArchive("the zip has no directory: truncated", reason="truncated")
    end_at = tail_at + found
    _, _, _, _, num_entries, size, start, _ = _END.unpack_from(tail, found)
    if num_entries == 0xFFFF or 0xFFFFFFFF in (size, start):
        place_at = end_at - _END64_PLACE.size
        if place_at >= 0:
            signature, _, at, _ = _END64_PLACE.unpack(_read(file, place_at, _END64_PLACE.size))
            if signature == b"PK\6\7":
                fields = _END64.unpack(_read(file, at, _END64.size))
                size, start, end_at = fields[8], fields[9], at
    if start + size > end_at:
        raise BadArchive("the zip's directory points past its end", reason="corrupt")
    return start, start + size


def _entry(fields: tuple[int, ...], name: bytes, extra: bytes) -> ZipEntry:
    made_by, flags, method = fields[1] >> 8, fields[3], fields[4]
    crc, packed_size, size = fields[7:10]
    header_at = fields[16]
    wide = iter(_zip64_values(extra))
    # The zip64 field has, in this order, those that do not fit into 32 bits.
    size = next(wide, size) if size == 0xFFFFFFFF else size
    packed_size = next(wide, packed_size) if packed_size == 0xFFFFFFFF else packed_size
    header_at = next(wide, header_at) if header_at == 0xFFFFFFFF else header_at
    kind = "file"
    mode = fields[15] >> 16 if made_by == _UNIX else 0
    if name.endswith(b"/"):
        kind = "folder"
    elif stat.S_ISLNK(mode):
        kind = "link"
    elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        kind = "special"
    return ZipEntry(
        name=name,
        size=size,
        kind=kind,
        is_utf8=bool(flags & _UTF8),
        is_encrypted=bool(flags & _ENCRYPTED),
        method=method,
        packed_size=packed_size,
        crc=crc,
        header_at=header_at,
    )


def _zip64_values(extra: bytes) -> tuple[int, ...]:
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            data = extra[at + 4 : at + 4 + size]
            return struct.unpack_from(f"<{len(data) // 8}Q", data)
        at += 4 + size
    return ()
