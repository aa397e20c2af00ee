"""Files of many compressed members; damaged ones are skipped.

WARC files are compressed record by record: each is a member (gzip) or frame (zstandard, lz4) of its
own, so that damage costs the member that it is in. `decompress` stops at damage; here the next
member is searched for. One found that way counts if a record begins in it, so that random bytes are
not taken for a member.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import zstandard

from barrow.corpus.input.decompress import BadArchive, Frames, compression, decompress
from barrow.errors import MissingExtra

_READ = 1 << 16  # more costs time: the rest is copied after each member
_STEP = 1 << 20
_MAX_WINDOW = 1 << 27
_MAX_DICTIONARY = 1 << 25
# The next member may begin inside a damaged one; so many bytes are searched again. To bound the
# work on a malicious file, only so many members are tried, with so much output.
_BACK = 4 * _READ
_MAX_TRIES = 100_000
_MAX_WASTE = 1 << 34
_TRIAL = 1 << 12  # bytes that a tried member must give

_GZIP, _LZ4, _ZSTANDARD = b"\x1f\x8b\x08", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd"
DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"

_COMMON = (EOFError, ValueError, MemoryError)

BeginsRecord = Callable[[bytes], bool]


class Piece(NamedTuple):
    """Decompressed bytes.

    `begins` is the offset in the file of the member that begins with them; None inside one. With
    `damage` there are no bytes: some are missing here.
    """

    data: bytes
    begins: int | None = None
    damage: BadArchive | None = None


class _Codec(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Format(NamedTuple):
    """A compression whose members are recognised by their first bytes.

    `pending` is the next input of a codec that has more output: None for more bytes of the file.
    """

    name: str
    magic: bytes
    new: Callable[[], _Codec]
    pending: Callable[[Any], bytes | None]
    errors: tuple[type[Exception], ...]


def is_compressed(file: BinaryIO) -> bool:
    """Whether a file begins as one of these compressions; it is rewound."""
    file.seek(0)
    head = file.read(6)
    file.seek(0)
    return head.startswith(_LZ4) or compression(head) is not None


def decompressed_pieces(file: BinaryIO, begins_record: BeginsRecord) -> Iterator[Piece]:
    """The bytes of a file from here on, decompressed if it is gzip, zstandard, lz4, bzip2 or xz.

    `begins_record` checks whether bytes may begin a record, for members found after damage. A
    zstandard file may begin with its dictionary in a skippable frame, as WARC files do. A piece
    holds 1 MiB at most.
    """
    start = file.tell()
    head = file.read(6)
    file.seek(start)
    if head.startswith(_GZIP[:2]):
        return _members(file, _gzip(), begins_record)
    if head.startswith(_LZ4):
        return _members(file, _lz4(), begins_record)
    name = compression(head)
    if name == "zstandard":
        return _frames(file, begins_record)
    if name is None:
        return (Piece(data) for data in iter(lambda: file.read(_STEP), b""))
    return _until_damage(file, name)


def _gzip() -> _Format:
    try:
        from isal import isal_zlib
    except ImportError:
        raise MissingExtra("isal", "web", "reading gzipped WARC files") from None
    return _Format(
        "gzip",
        _GZIP,
        # Not igzip_lib's, which allocates 1 MiB for each member.
        lambda: isal_zlib.decompressobj(31),
        lambda codec: codec.unconsumed_tail or None,
        (cast(type[Exception], isal_zlib.error), *_COMMON),
    )


def _lz4() -> _Format:
    try:
        from lz4.frame import LZ4FrameDecompressor
    except ImportError:
        raise MissingExtra("lz4", "web", "reading WARC files in lz4") from None
    return _Format(
        "lz4",
        _LZ4,
        LZ4FrameDecompressor,
        lambda codec: None if codec.needs_input else b"",
        (RuntimeError, *_COMMON),
    )


def _until_damage(file: BinaryIO, name: str) -> Iterator[Piece]:
    try:
        for data in decompress(file, name):
            yield Piece(data)
    except BadArchive as error:
        yield Piece(b"", None, error)


def _corrupt(name: str, error: Exception, start: int) -> Piece:
    cause = f"does not decompress as {name} from byte {start:,} on ({error})"
    return Piece(b"", None, BadArchive(cause, reason="corrupt"))


def _truncated(name: str, start: int) -> Piece:
    cause = f"the file ends inside the {name} data that begins at byte {start:,}"
    return Piece(b"", None, BadArchive(cause, reason="truncated"))


def _strange(name: str, start: int) -> Piece:
    cause = f"no {name} data at byte {start:,}, where some should begin"
    return Piece(b"", None, BadArchive(cause, reason="corrupt"))


# gzip and lz4 -------------------------------------------------------------------------------------


def _members(file: BinaryIO, form: _Format, begins_record: BeginsRecord) -> Iterator[Piece]:
    file = cast(BinaryIO, _Placed(file))
    search = _Search(file, form.magic, lambda data: begins_record(_trial(form, data)))
    data = file.read(_READ)
    while data:
        if len(data) < len(form.magic):
            data += file.read(_READ)
        rest = yield from _member(file, form, data, search)
        if rest is not None:
            data = _without_padding(rest, file)
        else:
            data = file.read(_READ) if search.seek(file.tell()) else b""


def _member(
    file: BinaryIO, form: _Format, data: bytes, search: _Search
) -> Generator[Piece, None, bytes | None]:
    """One member, of which `data` was read; the bytes after it.

    None if it is damaged; the file is then where the search for the next one begins.
    """
    start = file.tell() - len(data)
    if not data.startswith(form.magic):
        yield _strange(form.name, start)
        file.seek(start + 1)
        return None
    codec = form.new()
    begins: int | None = start
    num = 0
    try:
        while True:
            if piece := codec.decompress(data, _STEP):
                yield Piece(piece, begins)
                begins = None
                num += len(piece)
            if codec.eof:
                return codec.unused_data
            pending = form.pending(codec)
            data = file.read(_READ) if pending is None else pending
            # Without input it may still flush output; no output is the end.
            if not data and not piece and pending is None:
                damage = _truncated(form.name, start)
                break
    except form.errors as error:
        damage = _corrupt(form.name, error, start)
    yield damage
    search.waste += num
    file.seek(max(start + 1, file.tell() - _BACK))
    return None


def _without_padding(data: bytes, file: BinaryIO) -> bytes:
    """Bytes after a member and its padding of zeros, as on tapes and disks."""
    data = data.lstrip(b"\0") if data[:1] == b"\0" else data
    while not data and (data := file.read(_READ)):
        data = data.lstrip(b"\0") if data[:1] == b"\0" else data
    return data


def _trial(form: _Format, data: bytes) -> bytes:
    """The first bytes that come out, without those of a step that fails."""
    codec = form.new()
    out = b""
    try:
        for at in range(0, len(data), 1024):
            out += codec.decompress(data[at : at + 1024], _TRIAL)
            if len(out) >= _TRIAL or codec.eof:
                break
    except form.errors:
        pass
    return out


class _Placed:
    """A file that tracks its position: a system call takes longer than reading a small member."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._place = file.tell()

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        self._place += len(data)
        return data

    def seek(self, place: int, /) -> int:
        self._place = self._file.seek(place)
        return self._place

    def tell(self) -> int:
        return self._place


class _Search:
    """Searches for the next member in a file; gives up after too much work."""

    def __init__(self, file: BinaryIO, magic: bytes, is_member: Callable[[bytes], bool]) -> None:
        self._file = file
        self._magic = magic
        self._is_member = is_member
        self._tries = 0
        self.waste = 0  # bytes that came out of damaged members

    def seek(self, position: int) -> bool:
        """Go to the first member at or after `position`; False without one."""
        if self.waste > _MAX_WASTE:
            return False
        file, magic = self._file, self._magic
        file.seek(position)
        held = file.read(_READ)
        while held:
            at = held.find(magic)
            while at >= 0:
                self._tries += 1
                if self._tries > _MAX_TRIES:
                    return False
                file.seek(position + at)
                if self._is_member(file.read(_BACK)):  # a block of zstandard, and most of lz4
                    file.seek(position + at)
                    return True
                at = held.find(magic, at + 1)
            kept = len(magic) - 1
            position += max(0, len(held) - kept)
            file.seek(position)
            more = file.read(_READ)
            held = more if len(more) > kept else b""
        return False


# zstandard ----------------------------------------------------------------------------------------


def _frames(file: BinaryIO, begins_record: BeginsRecord) -> Iterator[Piece]:
    try:
        zstd = zstandard.ZstdDecompressor(_dictionary(file), max_window_size=_MAX_WINDOW)
        zstd.decompressobj()  # loads the dictionary: fails here if it is invalid
    except (zstandard.ZstdError, ValueError, MemoryError) as error:
        yield Piece(b"", None, BadArchive(f"a broken dictionary ({error})", reason="corrupt"))
        return
    search = _Search(file, _ZSTANDARD, lambda data: begins_record(_zstandard_trial(zstd, data)))
    while damage := (yield from _whole_frames(file, zstd, search)):
        yield damage
        if not search.seek(file.tell()):
            return


def _whole_frames(
    file: BinaryIO, zstd: zstandard.ZstdDecompressor, search: _Search
) -> Generator[Piece, None, Piece | None]:
    """Frames up to a damaged one, and its error. The file is then where the search begins."""
    base = file.tell()
    frames = Frames(file)
    damage, start, num = None, base, 0
    while damage is None and frames.has_more():
        start, num = base + frames.position, 0
        begins: int | None = start
        try:
            reader = zstd.stream_reader(cast(BinaryIO, frames), read_size=_READ)
            while data := reader.read(_STEP):
                yield Piece(data, begins)
                begins = None
                num += len(data)
        except (zstandard.ZstdError, MemoryError) as error:
            damage = _corrupt("zstandard", error, start)
        if not frames.end_frame() and frames.problem is None:
            damage = damage or _truncated("zstandard", start)
    if damage is None and frames.problem is not None:
        damage = _strange("zstandard", base + frames.problem.position)
    search.waste += num
    file.seek(max(start + 1, base + frames.position - _BACK))
    return damage


def _zstandard_trial(zstd: zstandard.ZstdDecompressor, data: bytes) -> bytes:
    try:
        return zstd.stream_reader(data).read(_TRIAL)
    except (zstandard.ZstdError, MemoryError):
        return b""


def _dictionary(file: BinaryIO) -> zstandard.ZstdCompressionDict | None:
    """The dictionary a file begins with, itself compressed or not; the file is then after it."""
    start = file.tell()
    if file.read(4) != DICTIONARY_FRAME:
        file.seek(start)
        return None
    size = int.from_bytes(file.read(4), "little")
    if size > _MAX_DICTIONARY:
        raise ValueError(f"{size:,} bytes, more than {_MAX_DICTIONARY:,}")
    data = file.read(size)
    if data.startswith(_ZSTANDARD):
        plain = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(data)
        data = plain.read(_MAX_DICTIONARY)
    return zstandard.ZstdCompressionDict(data)
