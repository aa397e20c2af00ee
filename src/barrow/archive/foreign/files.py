"""Files in other formats, read as pieces of whole JSON lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, NamedTuple, cast

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


class LineSpan(NamedTuple):
    """Whole lines of a file of JSON lines: the bytes from `start` to `stop` of a plain file, the
    frames there of a zstandard file, without the first `skip` bytes that come out of them and with
    `extra` bytes of the frames after them. `first` is the number of its first record.
    """

    start: int
    stop: int
    skip: int
    extra: int
    first: int


class ForeignFile:
    """A file without an index: read from the start, counted by reading all of it.

    With a `part`, only that is read, as one of the spans that `line_spans` found.
    """

    def __init__(
        self,
        path: str,
        *,
        text_key: str = "text",
        max_document: int = MAX_DOCUMENT,
        part: LineSpan | None = None,
    ) -> None:
        self.path = path
        self._part = part
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
        number, first = 0, 0 if self._part is None else self._part.first
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
                if self._part is not None:
                    yield from whole_lines(
                        _part_content(file, name, self._part), self._max_document
                    )
                    return
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

    def __init__(self, file: BinaryIO, position: int = 0) -> None:
        self._file = file
        self._begin(position)

    def _begin(self, position: int) -> None:
        self._file.seek(position)
        self.start = position
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
        self.start = self._scanner.spans.pop(0).end
        self._at = self.start - self._buffer_start
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
        position = self.start + 1
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
    return (content for _, content in _zstd_frames(file, name))


def _zstd_frames(
    file: BinaryIO, name: str, start: int = 0
) -> Iterator[tuple[int, memoryview | DamagedShard]]:
    """Decompress frame by frame, so that damage to one frame costs that frame only.

    What comes out, each time with the place of the frame.
    """
    zstd = zstandard.ZstdDecompressor()
    buffer = memoryview(bytearray(_STEP))
    source = _OneFrame(file, start)
    number = 0
    more = True
    while more:
        damage: DamagedShard | None = None
        reader = zstd.stream_reader(cast(BinaryIO, source), read_size=_READ_SIZE)
        try:
            while size := reader.readinto(buffer):
                yield source.start, buffer[:size]
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
            yield source.start, damage
            more = source.next_frame_after_damage()
        number += 1


# Parts of a file ----------------------------------------------------------------------------------


def line_spans(path: str, target: int, *, max_document: int = MAX_DOCUMENT) -> list[LineSpan]:
    """Parts of a file of JSON lines that can be read on their own, of about `target` bytes.

    A zstandard file is cut between frames. One without a place to cut, a damaged file, and one of
    another form is a single part, or none: read it as a whole.
    """
    name = base_name(path)
    with open_binary(path) as file:
        if name.endswith(".jsonl.zst"):
            return _Cutter(file, name, target, max_document).spans()
        if not name.endswith((".jsonl", ".ndjson")):
            return []
        return _plain_spans(file, name, target, max_document)


def _plain_spans(file: BinaryIO, name: str, target: int, max_line: int) -> list[LineSpan]:
    head = file.read(4)
    if is_zstandard(head) or head.startswith((_GZIP_MAGIC, _PARQUET_MAGIC)):
        return []  # which is an error
    spans: list[LineSpan] = []
    start = first = 0
    size = file.seek(0, 2)
    while start < size:
        stop = file.seek(min(size, start + target - 1))
        while (data := file.read(_READ_SIZE)) and b"\n" not in data:
            stop += len(data)
        stop = stop + data.index(b"\n") + 1 if data else size
        spans.append(LineSpan(start, stop, 0, 0, first))
        first += _num_records(_part_content(file, name, spans[-1]), max_line)
        start = stop
    return spans


class _Cutter:
    """Follows the frames of a zstandard file, and cuts after lines that end in another frame."""

    def __init__(self, file: BinaryIO, name: str, target: int, max_line: int) -> None:
        self._frames = _zstd_frames(file, name)
        self._target = target
        self._max_line = max_line
        self._ahead: list[tuple[int, memoryview | DamagedShard]] = []
        self._cut: tuple[int, int] | None = (0, 0)  # a frame, and bytes of what comes out of it
        self._damaged = False

    def spans(self) -> list[LineSpan]:
        cuts: list[tuple[int, int, int]] = []
        first = 0
        while self._cut is not None and not self._damaged:
            cuts.append((*self._cut, first))
            first += _num_records(self._until_cut(*self._cut), self._max_line)
        ends = [*((frame, skip) for frame, skip, _ in cuts[1:]), (-1, 0)]
        return [
            LineSpan(frame, stop, skip, extra, number)
            for (frame, skip, number), (stop, extra) in zip(cuts, ends, strict=True)
            if not self._damaged
        ]

    def _until_cut(self, frame: int, at: int) -> Content:
        size, may_cut = 0, False
        self._cut = None
        for place, data in chain(self._ahead, self._frames):
            if isinstance(data, DamagedShard):
                self._damaged = True
                return
            if place != frame:
                frame, at, may_cut = place, 0, size >= self._target
            if may_cut and (end := bytes(data).find(b"\n") + 1):
                yield data[:end]
                self._ahead = [(place, memoryview(bytes(data[end:])))]
                self._cut = (place, at + end)
                return
            at += len(data)
            size += len(data)
            yield data


def _part_content(file: BinaryIO, name: str, part: LineSpan) -> Content:
    """What is in a span, decompressed."""
    if not name.endswith(".zst"):
        file.seek(part.start)
        left = part.stop - part.start
        mark = file.read(min(left, 3)) if part.start == 0 else b""
        left -= len(mark)
        if mark and mark != _BYTE_ORDER_MARK:
            yield memoryview(mark)
        while left and (data := file.read(min(left, PIECE_SIZE))):
            left -= len(data)
            yield memoryview(data)
        return
    skip, extra = part.skip, part.extra
    for place, content in _zstd_frames(file, name, part.start):
        if isinstance(content, DamagedShard):
            yield content
            continue
        if 0 <= part.stop <= place:
            content = content[:extra]
            extra -= len(content)
        if len(content) > skip:
            yield content[skip:]
        skip = max(0, skip - len(content))
        if 0 <= part.stop <= place and not extra:
            return


def _num_records(content: Content, max_line: int) -> int:
    """How many records some content has."""
    lines = whole_lines(content, max_line)
    return sum(count_lines(line) if isinstance(line, bytes) else 1 for line in lines)
