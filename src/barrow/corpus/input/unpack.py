"""Packed files, opened safely: nothing is written to disk, and nothing grows without bound.

`open_unpacked` reads a file that may be compressed; `members` goes through a tar or zip, `walk`
through a folder, both as `Member`s. Entries that are not regular files with safe names are
`Reject`s, with the reasons ``link``, ``special-file``, ``unsafe-name``, ``bad-name``,
``encrypted``, ``too-large``, ``unsupported`` or ``unreadable``; where the file cannot be read
further, `BadArchive` is raised.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast

from barrow.corpus.input.decompress import (
    BadArchive,
    PieceFile,
    Pieces,
    bounded,
    compression,
    decompress,
)
from barrow.corpus.input.tar import TarStream, is_tar
from barrow.corpus.input.zip import METHODS, ZipEntry, content_at, zip_entries
from barrow.corpus.readers.reader import Reject, excerpt

__all__ = ["BadArchive", "Limits", "Member", "kind_of", "members", "open_unpacked", "walk"]

_HEAD = 512


@dataclass(frozen=True)
class Limits:
    """What a packed file may unpack to before it counts as a bomb.

    `max_bytes` in all, `max_ratio` times its own size (looked at beyond 64 MiB), `max_entries`
    entries; a member larger than `max_member` is a reject.
    """

    max_bytes: int = 1 << 40
    max_ratio: float = 1000
    max_member: int = 1 << 32
    max_entries: int = 1_000_000


class Member:
    """A regular file in a tar, zip or folder; readable until the next one is asked for."""

    def __init__(self, name: str, size: int, open_content: Callable[[], BinaryIO]) -> None:
        self.name = name
        self.size = size
        self._open = open_content
        self._file: BinaryIO | None = None

    def open(self) -> BinaryIO:
        """The content as a file, from the current position."""
        if self._file is None:
            self._file = self._open()
        return self._file

    def read(self, limit: int = -1) -> bytes:
        """The next `limit` bytes; all that are left by default.

        Raises `BadArchive` if they cannot all be read.
        """
        file = self.open()
        data = file.read(limit)
        while len(data) < limit and (more := file.read(limit - len(data))):
            data += more
        return data

    def close(self) -> None:
        """Release the content."""
        self._open = _is_over
        if self._file is not None:
            self._file.close()

    def __repr__(self) -> str:
        return f"Member({self.name!r}, {self.size:,} bytes)"


def _is_over() -> BinaryIO:
    raise ValueError("read a member before asking for the next one")


def kind_of(path: Path) -> Literal["folder", "tar", "zip", "file"]:
    """The kind of a path, from its first bytes. Raises `BadArchive` if it cannot be opened."""
    if path.is_dir():
        return "folder"
    with _open_regular(path) as raw:
        head = raw.read(_HEAD)
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    if compression(head) is not None:
        with open_unpacked(path) as file:
            try:
                head = file.read(_HEAD)
            except BadArchive:
                return "file"
    return "tar" if is_tar(head) else "file"


def open_unpacked(
    path: Path, *, max_bytes: int = Limits.max_bytes, max_ratio: float = Limits.max_ratio
) -> BinaryIO:
    """A file to read from front to back, decompressed if it begins as gzip, bzip2, xz or zstandard.

    Raises `BadArchive` at once if the file is missing or empty, and while reading if it is damaged,
    truncated, or unpacks to more than `max_bytes` or `max_ratio` times its size. ``read(n)`` and
    ``readline()`` return what precedes the error, and raise when called again; ``read()`` raises.
    """
    raw = _open_regular(path)
    head = raw.read(_HEAD)
    if not head:
        raw.close()
        raise BadArchive("the file is empty", reason="empty")
    raw.seek(0)
    pieces = decompress(raw, compression(head))
    pieces = bounded(pieces, max_bytes=max_bytes, max_ratio=max_ratio, num_read=raw.tell)
    return cast(BinaryIO, PieceFile(pieces, raw.close))


class _Raw:
    """A file whose errors are `BadArchive`s."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise _unreadable(error) from None

    def seek(self, position: int, whence: int = 0, /) -> int:
        try:
            return self._file.seek(position, whence)
        except (OSError, ValueError, OverflowError) as error:
            raise BadArchive(f"leads out of the file ({error})", reason="corrupt") from None

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> _Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _unreadable(error: OSError) -> BadArchive:
    return BadArchive(f"cannot be read ({error.strerror or error})", reason="unreadable")


def _open_regular(path: Path, *, follow: bool = True) -> _Raw:
    # Without O_NONBLOCK, opening a pipe nobody writes to would never return.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        if isinstance(error, OSError):
            raise _unreadable(error) from None
        raise BadArchive(f"cannot be read ({error})", reason="unreadable") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadArchive("expected a file, found something else", reason="unreadable")
    return _Raw(os.fdopen(descriptor, "rb"))


def members(path: Path, *, limits: Limits | None = None) -> Iterator[Member | Reject]:
    """The regular files of a .tar (plain or compressed in any way) or .zip, in its order."""
    limits = limits or Limits()
    kind = kind_of(path)
    if kind == "zip":
        yield from _zip_members(path, limits)
    elif kind == "tar":
        yield from _tar_members(path, limits)
    elif kind == "folder":
        raise BadArchive("expected a tar or zip, found a folder", reason="not-an-archive")
    else:
        with open_unpacked(path) as file:
            head = file.read(_HEAD)
        if not head:
            raise BadArchive("the file is empty", reason="empty")
        # A block of zeros is the end mark: a tar of nothing.
        if len(head) < _HEAD or head.strip(b"\0"):
            raise BadArchive("neither a tar nor a zip", reason="not-an-archive")


def _tar_members(path: Path, limits: Limits) -> Iterator[Member | Reject]:
    with open_unpacked(path, max_bytes=limits.max_bytes, max_ratio=limits.max_ratio) as file:
        tar = TarStream(file)
        for entry in tar.entries(max_headers=limits.max_entries):
            if entry.kind != "folder":
                name = _in_utf8(entry.name)
                content = partial(PieceFile, tar.content())
                yield from _offered(entry.name, name, entry.kind, entry.size, limits, content)
        while file.read(1 << 16):  # the compression's own checksum is at its end
            pass


def _zip_members(path: Path, limits: Limits) -> Iterator[Member | Reject]:
    with _open_regular(path) as raw:
        unpacking = _Unpacking(raw, limits)
        for entry in zip_entries(raw, max_entries=limits.max_entries):
            if entry.kind == "folder":
                continue
            name = _in_utf8(entry.name)
            if name is None and not entry.is_utf8:
                name = entry.name.decode("cp437")
            if entry.is_encrypted:
                yield Reject("encrypted", "a password is asked for", name or excerpt(entry.name))
            elif entry.method not in METHODS:
                cause = f"zip compression method {entry.method}"
                yield Reject("unsupported", cause, name or excerpt(entry.name))
            else:
                content = partial(PieceFile, unpacking.content(entry))
                yield from _offered(entry.name, name, entry.kind, entry.size, limits, content)


def _in_utf8(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _offered(
    raw_name: bytes,
    name: str | None,
    kind: str,
    size: int,
    limits: Limits,
    content: Callable[[], PieceFile],
) -> Iterator[Member | Reject]:
    """An entry as a member, closed when the next is asked for, or a reject."""
    if name is None:
        yield Reject("bad-name", "the name is not UTF-8", excerpt(raw_name))
    elif kind == "link":
        yield Reject("link", "links are not followed", name)
    elif kind != "file":
        yield Reject("special-file", "a device, a pipe or a sparse file", name)
    elif (plain := _inside(name)) is None:
        yield Reject("unsafe-name", "the name leads out of the archive, or nowhere", name)
    elif size > limits.max_member:
        yield Reject("too-large", f"{size:,} bytes, over {limits.max_member:,}", plain)
    else:
        member = Member(plain, size, lambda: cast(BinaryIO, content()))
        yield member
        member.close()


def _inside(name: str) -> str | None:
    """The name without ``./`` and doubled slashes; None if it is not one inside a folder."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    leads_out = name.startswith(("/", "\\")) or name[1:3] in (":/", ":\\") or "\0" in name
    if leads_out or not parts or ".." in name.replace("\\", "/").split("/"):
        return None
    return "/".join(parts)


class _Unpacking:
    """The content of a zip's entries, and how much was unpacked."""

    def __init__(self, raw: _Raw, limits: Limits) -> None:
        self._raw = raw
        self._limits = limits
        self._size = raw.seek(0, os.SEEK_END)
        self._total = 0

    def content(self, entry: ZipEntry) -> Pieces:
        """The unpacked content of an entry; size and checksum are checked."""
        section = _Section(self._raw, content_at(self._raw, entry), entry.packed_size)
        size = crc = 0
        # Entries may share bytes, so the ratio is of all output to the whole file.
        for piece in bounded(
            decompress(section, METHODS[entry.method]),
            max_bytes=self._limits.max_bytes,
            max_ratio=self._limits.max_ratio,
            num_read=lambda: self._size,
            already=self._total,
        ):
            size += len(piece)
            self._total += len(piece)
            crc = zlib.crc32(piece, crc)
            if size > entry.size:
                raise BadArchive("unpacks to more bytes than declared", reason="corrupt")
            yield piece
        if size < entry.size:
            raise BadArchive("unpacks to fewer bytes than declared", reason="truncated")
        if crc != entry.crc:
            raise BadArchive("wrong checksum of the unpacked data", reason="corrupt")


class _Section:
    """A part of a file that others read too."""

    def __init__(self, raw: _Raw, start: int, size: int) -> None:
        self._raw = raw
        self._at = start
        self._end = start + size

    def read(self, size: int, /) -> bytes:
        self._raw.seek(self._at)
        data = self._raw.read(min(size, self._end - self._at))
        self._at += len(data)
        return data


def walk(path: Path, *, limits: Limits | None = None) -> Iterator[Member | Reject]:
    """The regular files under a folder, names sorted within each folder; links not followed."""
    limits = limits or Limits()
    if not path.is_dir():
        raise BadArchive("expected a folder", reason="unreadable")
    waiting: list[Iterator[os.DirEntry[str]]] = [_listing(path, limits)]
    number = 0
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
            continue
        number += 1
        if number > limits.max_entries:
            raise BadArchive(f"more than {limits.max_entries:,} entries", reason="bomb")
        name = os.fsencode(entry.path)[len(os.fsencode(path)) :].lstrip(b"/")
        try:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(_listing(Path(entry.path), limits))
                continue
            status = entry.stat(follow_symlinks=False)
        except (OSError, BadArchive) as error:
            yield Reject("unreadable", str(error), excerpt(name))
            continue
        kind = "link" if stat.S_ISLNK(status.st_mode) else "special"
        kind = "file" if stat.S_ISREG(status.st_mode) else kind
        content = partial(_file_content, Path(entry.path))
        yield from _offered(name, _in_utf8(name), kind, status.st_size, limits, content)


def _listing(folder: Path, limits: Limits) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(islice(entries, limits.max_entries + 1))
    except OSError as error:
        raise _unreadable(error) from None
    # Listings come in any order.
    return iter(sorted(found, key=lambda entry: os.fsencode(entry.name)))


def _file_content(path: Path) -> PieceFile:
    raw = _open_regular(path, follow=False)
    return PieceFile(decompress(raw, None), raw.close)
