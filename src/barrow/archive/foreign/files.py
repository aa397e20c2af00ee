"""Files in other formats, read as pieces of whole JSON lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import zstandard

from barrow.archive.foreign.json_values import split_values
from barrow.archive.format import FRAME_MAGIC_BYTES
from barrow.archive.piece import (
    MAX_DOCUMENT,
    PIECE_SIZE,
    WHITE,
    BadLine,
    Piece,
    count_lines,
)
from barrow.archive.storage import READABLE, ByteRanges, base_name, open_binary
from barrow.archive.zstd import FrameScanner, NotZstandard, in_words
from barrow.errors import ArchiveError, BadRecord, DamagedShard

# The next output of a decompressor, or an error at that place.
Content = Iterator[memoryview | DamagedShard]

_READ_SIZE = 1 << 17
# zstandard returns nothing for a step in which it meets damage.
_STEP = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"


class ForeignFile:
    """A file without an index: read from the start, counted by reading all of it."""

    def __init__(
        self, path: str, *, text_key: str = "text", max_document: int = MAX_DOCUMENT
    ) -> None:
        self.path = path
        self._text_key = text_key
        self._max_document = max_document
        self._num_documents: int | None = None
        if not path.endswith(READABLE):
            raise ValueError(
                f"{path}: unknown format; expected a name ending in {', '.join(READABLE)}"
            )

    @property
    def num_documents(self) -> int:
        """Records in the file, counted on first use."""
        if self._num_documents is None:
            total = 0
            for item in self.pieces():
                if isinstance(item, Piece):
                    total += item.num_documents
                elif isinstance(item, BadRecord):
                    total += 1
            self._num_documents = total
        return self._num_documents

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return ByteRanges(self.path).size

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece | ArchiveError]:
        """Pieces with the documents from `start` to `stop`; those before are decoded too."""
        name = base_name(self.path)
        number = first = 0
        for item in self._lines(name):
            if stop is not None and first >= stop:
                return
            if isinstance(item, DamagedShard):
                yield DamagedShard(
                    item.cause, reason=item.reason, shard=name, frame=item.frame, document=first
                )
            elif isinstance(item, BadLine):
                yield BadRecord(
                    item.cause,
                    reason=item.reason,
                    shard=name,
                    document=first,
                    num_documents=1,
                    raw=item.start,
                )
                first += 1
            else:
                num_documents = count_lines(item)
                if num_documents and first + num_documents > start:
                    yield Piece(name, number, first, num_documents, len(item), _Copy(item))
                first += num_documents
                number += 1

    def _lines(self, name: str) -> Iterator[bytes | BadLine | DamagedShard]:
        try:
            if self.path.endswith(".parquet"):
                from barrow.archive.foreign.parquet import parquet_lines

                yield from parquet_lines(
                    self.path, text_key=self._text_key, max_line=self._max_document
                )
                return
            with open_binary(self.path) as file:
                content = _something(_content(file, name), name)
                if self.path.endswith((".json", ".json.zst", ".json.gz")):
                    content = split_values(content, name, max_value=self._max_document)
                yield from whole_lines(content, self._max_document)
        except OSError as error:
            cause = error.strerror or str(error)
            yield DamagedShard(f"cannot be read ({cause})", reason="unreadable", shard=name)


@dataclass(frozen=True, slots=True)
class _Copy:
    data: bytes

    def __call__(self, buffer: memoryview) -> None:
        buffer[:] = self.data


def whole_lines(content: Content, max_line: int) -> Iterator[bytes | BadLine | DamagedShard]:
    """Cut content at line ends. A line over `max_line` is skipped without holding it."""
    rest = bytearray()
    dropping = False
    for item in content:
        if isinstance(item, DamagedShard):
            yield item
            # A line begun before the damage cannot be completed; it counts as a bad line.
            if rest and not dropping:
                yield bytes(rest) + b"\n"
            rest.clear()
            dropping = False
            continue
        data = bytes(item)
        if dropping:
            end = data.find(b"\n") + 1
            if not end:
                continue
            data, dropping = data[end:], False
        end = data.rfind(b"\n") + 1
        if end:
            yield from _within_limit(bytes(rest) + data[:end] if rest else data[:end], max_line)
            rest = bytearray(data[end:])
        else:
            rest += data
        if len(rest) > max_line:
            yield BadLine.too_long(rest, max_line)
            rest.clear()
            dropping = True
    if rest.strip(WHITE):
        yield bytes(rest)


def _within_limit(lines: bytes, max_line: int) -> Iterator[bytes | BadLine]:
    if len(lines) <= max_line:
        yield lines
        return
    start = at = 0
    while at < len(lines):
        end = lines.index(b"\n", at) + 1
        if end - at - 1 > max_line:
            if start < at:
                yield lines[start:at]
            yield BadLine.too_long(lines[at : at + 200], max_line)
            start = end
        at = end
    if start < at:
        yield lines[start:at]


def _something(content: Content, name: str) -> Content:
    """The same content; damage, if it is empty."""
    empty = True
    for item in content:
        empty = False
        yield item
    if empty:
        yield DamagedShard("the file is empty", reason="empty-file", shard=name)


def _content(file: BinaryIO, name: str) -> Content:
    head = file.read(4)
    if not head:
        return
    file.seek(0)
    if name.endswith(".zst"):
        if not is_zstandard(head):
            yield _wrong_magic(name, "zstandard", head)
            return
        yield from _gathered(_zstd_content(file, name))
    elif name.endswith(".gz"):
        if not head.startswith(_GZIP_MAGIC):
            yield _wrong_magic(name, "gzip", head)
            return
        yield from _gathered(_gzip_content(file, name))
    elif is_zstandard(head) or head.startswith((_GZIP_MAGIC, _PARQUET_MAGIC)):
        yield _wrong_magic(name, "text", head)
    else:
        buffer = memoryview(bytearray(PIECE_SIZE))
        first = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
        while size := file.readinto(buffer):  # type: ignore[attr-defined]
            yield buffer[first:size]
            first = 0


def _gathered(content: Content) -> Content:
    """The same content in larger parts."""
    gathered = bytearray()
    for item in content:
        if not isinstance(item, DamagedShard):
            gathered += item
            if len(gathered) < PIECE_SIZE:
                continue
        if gathered:
            yield memoryview(bytes(gathered))
            gathered.clear()
        if isinstance(item, DamagedShard):
            yield item
    if gathered:
        yield memoryview(bytes(gathered))


def is_zstandard(head: bytes) -> bool:
    """Whether these four bytes begin a zstandard frame, skippable ones included."""
    return head == FRAME_MAGIC_BYTES or (head[1:] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50)


def _wrong_magic(name: str, expected: str, head: bytes) -> DamagedShard:
    looks_like = "zstandard: name it .zst" if is_zstandard(head) else None
    if head.startswith(_GZIP_MAGIC):
        looks_like = "gzip: name it .gz"
    if head.startswith(_PARQUET_MAGIC):
        looks_like = "parquet: name it .parquet"
    return DamagedShard(
        f"expected {expected}, but the file begins with {head.hex(' ')}"
        + (f", which looks like {looks_like}" if looks_like else ""),
        reason="wrong-magic",
        shard=name,
    )


def _gzip_content(file: BinaryIO, name: str) -> Content:
    try:
        with gzip.GzipFile(fileobj=file) as reader:
            # One step at a time, to keep what was decompressed before the damage.
            while data := reader.read1(PIECE_SIZE):
                yield memoryview(data)
    except EOFError:
        yield DamagedShard(
            "the file ends in the middle of the gzip stream", reason="truncated", shard=name
        )
    except (gzip.BadGzipFile, zlib.error) as error:
        yield DamagedShard(
            f"does not decompress ({error}); a gzip file cannot be read past such a place",
            reason="corrupt",
            shard=name,
        )


class _OneFrame:
    """The compressed bytes of a file, given out up to the end of the current frame."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begin(0)

    def _begin(self, position: int) -> None:
        self._file.seek(position)
        self._start = position
        self._buffer = b""
        self._at = 0
        self._buffer_start = position
        self._scanner = FrameScanner(position)
        self._broken = False

    def read(self, size: int = -1) -> bytes:
        """Input for zstandard: empty once the frame is over."""
        spans = self._scanner.spans
        if self._at == len(self._buffer) and (spans or not self._fill()):
            return b""
        end = spans[0].end - self._buffer_start if spans else len(self._buffer)
        data = self._buffer[self._at : end if size < 0 else min(end, self._at + size)]
        self._at += len(data)
        return data

    def _fill(self) -> bool:
        self._buffer_start += len(self._buffer)
        self._buffer = self._file.read(_READ_SIZE) or b""
        self._at = 0
        if not self._broken:
            try:
                self._scanner.feed(self._buffer)
            except NotZstandard:
                self._broken = True
        return bool(self._buffer)

    def finish_frame(self) -> bool:
        """Skip to the end of the current frame; False if it has no end."""
        while not self._scanner.spans:
            if self._broken or not self._fill():
                return False
        return True

    def next_frame(self) -> bool:
        """Begin at the frame after the current, finished one; False at the end of the file."""
        self._start = self._scanner.spans.pop(0).end
        self._at = self._start - self._buffer_start
        return self._at < len(self._buffer) or self._fill()

    def next_frame_after_damage(self) -> bool:
        """Begin at the next whole frame; False without one.

        Sizes inside the damaged frame count only if they lead to another frame or to the end.
        """
        if self.finish_frame():
            end = self._scanner.spans[0].end
            self._file.seek(end)
            head = self._file.read(4)
            if not head or is_zstandard(head):
                self._begin(end)
                return bool(head)
        position = self._start + 1
        self._file.seek(position)
        overlap = b""
        while data := self._file.read(_READ_SIZE):
            found = (overlap + data).find(FRAME_MAGIC_BYTES)
            if found >= 0:
                self._begin(position - len(overlap) + found)
                return True
            position += len(data)
            overlap = (overlap + data)[-3:]
        return False


def _zstd_content(file: BinaryIO, name: str) -> Content:
    """Decompress frame by frame, so that damage to one frame costs that frame only."""
    zstd = zstandard.ZstdDecompressor()
    buffer = memoryview(bytearray(_STEP))
    source = _OneFrame(file)
    number = 0
    more = True
    while more:
        damage: DamagedShard | None = None
        reader = zstd.stream_reader(cast(BinaryIO, source), read_size=_READ_SIZE)
        try:
            while size := reader.readinto(buffer):
                yield buffer[:size]
        except zstandard.ZstdError as error:
            damage = DamagedShard(
                f"does not decompress ({in_words(error)})",
                reason="corrupt",
                shard=name,
                frame=number,
            )
        if damage is None and not source.finish_frame():
            damage = DamagedShard(
                "the file ends, or breaks off, in the middle of a zstandard frame",
                reason="truncated",
                shard=name,
                frame=number,
            )
        if damage is None:
            more = source.next_frame()
        else:
            yield damage
            more = source.next_frame_after_damage()
        number += 1
