"""The headers of a tar file, read from front to back.

`tarfile` keeps every header it has seen, reads extended headers whole whatever size they claim, and
recurses into chains of them. Here one entry is held at a time and everything is bounded.
Read are the old Unix form, ustar, GNU long names and pax (POSIX.1-2001).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from barrow.corpus.input.decompress import BadArchive, Readable

_BLOCK = 512
_PIECE = 1 << 16
_MAX_EXTENDED = 1 << 20

_KINDS = {b"1": "link", b"2": "link", b"5": "folder", b"D": "folder", b"V": "folder"}
_KINDS |= dict.fromkeys((b"\0", b"0", b"7"), "file")


@dataclass(frozen=True, slots=True)
class TarEntry:
    """A header; `kind` is ``file``, ``folder``, ``link`` or ``special`` (devices, sparse files).

    `size` bytes of content follow in the stream, then padding up to a multiple of 512.
    """

    name: bytes
    size: int
    kind: str


class TarStream:
    """A tar as a stream: `entries` stops at each header, `content` reads what follows it."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._left = 0
        self._padding = 0

    def content(self) -> Iterator[bytes]:
        """The unread content of the current entry, in pieces."""
        while self._left:
            data = self._source.read(min(_PIECE, self._left))
            if not data:
                raise BadArchive("the tar ends inside a file", reason="truncated")
            self._left -= len(data)
            yield data

    def entries(self, *, max_headers: int) -> Iterator[TarEntry]:
        """Each entry; unread content is skipped."""
        name: bytes | None = None
        pax: dict[bytes, bytes] = {}
        for number in range(max_headers + 1):
            self._pass_over()
            block = self._header()
            if block is None:
                return
            if number == max_headers:
                raise BadArchive(f"more than {max_headers:,} entries", reason="bomb")
            kind = block[156:157]
            self._begin(_number(block[124:136]))
            if kind == b"L":
                name = self._extended().split(b"\0", 1)[0]
            elif kind in (b"x", b"X"):
                pax = _pax_records(self._extended())
            elif kind not in (b"g", b"K"):
                if b"size" in pax:
                    self._begin(_decimal(pax[b"size"]))
                self._pass_sparse_maps(block)
                yield _entry(block, name, pax, self._left)
                name, pax = None, {}

    def _begin(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def _pass_over(self) -> None:
        for _ in self.content():
            pass
        if len(_exactly(self._source, self._padding)) < self._padding:
            raise BadArchive("the tar ends inside a file", reason="truncated")
        self._padding = 0

    def _header(self) -> bytes | None:
        """The next header; None at the block of zeros that ends a tar."""
        block = _exactly(self._source, _BLOCK)
        if not block:
            raise BadArchive("the tar has no end mark: it was cut off", reason="truncated")
        if len(block) < _BLOCK:
            raise BadArchive("the tar ends inside a header", reason="truncated")
        if not block.strip(b"\0"):
            return None
        if not is_tar(block):
            raise BadArchive("wrong checksum of a tar header", reason="corrupt")
        return block

    def _extended(self) -> bytes:
        if self._left > _MAX_EXTENDED:
            raise BadArchive(f"an extended header of {self._left:,} bytes", reason="bomb")
        return b"".join(self.content())

    def _pass_sparse_maps(self, block: bytes) -> None:
        """GNU's sparse files may have more blocks of header, which their size does not count."""
        more = block[156:157] == b"S" and block[482] != 0
        while more:
            block = _exactly(self._source, _BLOCK)
            if len(block) < _BLOCK:
                raise BadArchive("the tar ends inside a header", reason="truncated")
            more = block[504] != 0


def is_tar(block: bytes) -> bool:
    """Whether 512 bytes are a tar header: whether its checksum is right."""
    if len(block) < _BLOCK:
        return False
    try:
        stated = _number(block[148:156])
    except BadArchive:
        return False
    rest = block[:148] + b" " * 8 + block[156:_BLOCK]
    total = sum(rest)
    if stated == total:
        return True
    # Some old systems summed signed characters.
    return stated == total - 256 * sum(byte > 127 for byte in rest)


def _exactly(source: Readable, size: int) -> bytes:
    """So many bytes, fewer only at the end."""
    data = b""
    while len(data) < size and (more := source.read(size - len(data))):
        data += more
    return data


def _entry(block: bytes, name: bytes | None, pax: dict[bytes, bytes], size: int) -> TarEntry:
    if name is None:
        name = block[:100].split(b"\0", 1)[0]
        prefix = block[345:500].split(b"\0", 1)[0]
        if prefix and block[257:263] == b"ustar\0":
            name = prefix + b"/" + name
    name = pax.get(b"path", name)
    kind = _KINDS.get(block[156:157], "special")
    if kind == "file" and any(key.startswith(b"GNU.sparse.") for key in pax):
        kind = "special"
    if kind == "file" and name.endswith(b"/"):
        kind = "folder"  # before ustar there was no other mark
    return TarEntry(name, size, kind)


def _number(field: bytes) -> int:
    """An octal field, or GNU's binary one for sizes of 8 GiB and more."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.split(b"\0", 1)[0].strip(b" ")
    if digits.strip(b"01234567"):
        raise BadArchive("invalid number in a tar header", reason="corrupt")
    return int(digits or b"0", 8)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > 20:
        raise BadArchive("invalid number in a pax header", reason="corrupt")
    return int(digits)


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """Records of an extended header: length, blank, key, equals sign, value, newline."""
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(data) and data[at] != 0:
        space = data.find(b" ", at, at + 20)
        end = at + _decimal(data[at:space] if space > 0 else b"")
        key, equals, value = data[space + 1 : end - 1].partition(b"=")
        if not equals or end > len(data) or data[end - 1 : end] != b"\n":
            raise BadArchive("unreadable pax header", reason="corrupt")
        records[key] = value
        at = end
    return records
