"""One shard, readable from any frame."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import xxhash
import zstandard

from barrow.archive import format as layout
from barrow.archive.buffers import BufferPool
from barrow.archive.piece import (
    MAX_DOCUMENT,
    MAX_FRAME_SIZE,
    PIECE_SIZE,
    Piece,
)
from barrow.archive.storage import ByteRanges, base_name
from barrow.archive.zstd import Span, in_words, salvage_frames, thread_decompressor
from barrow.errors import DamagedShard

# Enough of a file's end for the index and seek table of a shard of several GiB.
_TAIL = 1 << 16


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame: where it is, what it decompresses to, and the documents in it."""

    start: int
    size: int
    content_size: int
    checksum: int
    num_documents: int


@dataclass(frozen=True, slots=True)
class Table:
    """The tables at the end of a shard."""

    entries: tuple[layout.Entry, ...]
    index: layout.Index
    index_start: int
    frames: tuple[Frame, ...]

    def spans(self, num_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Parts of about `num_bytes`, cut at frames: ranges of documents, and bytes."""
        start = number = size = 0
        for frame in self.frames:
            number += frame.num_documents
            size += frame.content_size
            if size >= num_bytes:
                yield start, number, size
                start, size = number, 0
        if number > start:
            yield start, number, size


def read_table(file: ByteRanges) -> Table | None:
    """The table at the end of a shard; None for a file that is not a shard.

    Raises `DamagedShard` if the file begins as a shard, but its end is missing or wrong.
    """
    tail = file.read(max(0, file.size - _TAIL), _TAIL)
    try:
        table_size = layout.seek_table_size(tail, file.size)
        if table_size:
            return _read_end(file, tail, table_size)
        reason = "no-seek-table"
        cause = "the file ends before its seek table: it was cut off, or is still being copied"
    except layout.FormatError as error:
        reason, cause = "bad-index", str(error)
    if not _says_it_is_ours(file):
        return None
    raise DamagedShard(
        f"{cause}. Copy it again, or read what is whole with on_bad='count'",
        reason=reason,
        shard=base_name(file.path),
    )


def _read_end(file: ByteRanges, tail: bytes, table_size: int) -> Table:
    entries = layout.unpack_seek_table(_last(file, tail, table_size))
    if not entries or sum(e.size for e in entries) + table_size != file.size:
        raise layout.FormatError("frame sizes in the seek table do not add up to the file")
    index_size = entries[-1].size
    index_frame = _last(file, tail, index_size + table_size)[:index_size]
    return _join(entries, layout.unpack_index(index_frame))


def _last(file: ByteRanges, tail: bytes, num_bytes: int) -> bytes:
    if num_bytes <= len(tail):
        return tail[len(tail) - num_bytes :]
    return file.read(file.size - num_bytes, num_bytes)


def _says_it_is_ours(file: ByteRanges) -> bool:
    return file.read(len(layout.EMPTY_FRAME), len(layout.MARKER)) == layout.MARKER


def _join(entries: list[layout.Entry], index: layout.Index) -> Table:
    frames: list[Frame] = []
    start = 0
    for entry in entries:
        if entry.content_size:
            if len(frames) == len(index.documents):
                raise layout.FormatError("the seek table has more data frames than the index")
            num_documents = index.documents[len(frames)]
            if not 0 < num_documents <= entry.content_size:
                raise layout.FormatError(
                    f"frame {len(frames)} cannot hold {num_documents:,} documents"
                )
            frames.append(
                Frame(start, entry.size, entry.content_size, entry.checksum, num_documents)
            )
        start += entry.size
    if len(frames) != len(index.documents):
        raise layout.FormatError("the index has more data frames than the seek table")
    return Table(tuple(entries), index, start - entries[-1].size, tuple(frames))


class Shard:
    """A file of frames; document i is found by decoding only the frame it is in."""

    def __init__(
        self,
        file: ByteRanges,
        frames: tuple[Frame, ...],
        *,
        fingerprint: str | None = None,
        max_document: int = MAX_DOCUMENT,
    ) -> None:
        self.path = file.path
        self.frames = frames
        self.fingerprint = fingerprint
        self._file = file
        self._max_frame = max_document + MAX_FRAME_SIZE
        self._ends = list(accumulate(frame.num_documents for frame in frames))

    @classmethod
    def of(cls, file: ByteRanges, table: Table, *, max_document: int = MAX_DOCUMENT) -> Shard:
        """A whole shard."""
        fingerprint = f"{table.index.hash_before:016x}"
        return cls(file, table.frames, fingerprint=fingerprint, max_document=max_document)

    @property
    def num_documents(self) -> int:
        """Documents in the shard."""
        return self._ends[-1] if self._ends else 0

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._file.size

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
        """Frames that hold the documents from `start` to `stop`."""
        stop = self.num_documents if stop is None else min(stop, self.num_documents)
        k = bisect_right(self._ends, start)
        while k < len(self.frames) and self._first(k) < stop:
            yield self.piece(k)
            k += 1

    def piece(self, k: int) -> Piece:
        """Frame k."""
        frame = self.frames[k]
        return Piece(
            shard=base_name(self.path),
            frame=k,
            first=self._first(k),
            num_documents=frame.num_documents,
            size=frame.content_size,
            load=_FrameLoader(self, k),
        )

    def _first(self, k: int) -> int:
        return self._ends[k] - self.frames[k].num_documents

    def load(self, k: int, buffer: memoryview) -> None:
        """Decompress frame k into a buffer of its content size; zstandard checks the checksum."""
        frame = self.frames[k]
        if frame.content_size > self._max_frame:
            raise self._damaged(
                k,
                "too-large",
                f"the frame claims {frame.content_size:,} bytes, over the limit of "
                f"{self._max_frame:,}; raise max_document= if this is intended",
            )
        try:
            compressed = self._file.read(frame.start, frame.size)
        except OSError as error:
            raise self._damaged(k, "unreadable", f"cannot be read ({error.strerror})") from None
        if len(compressed) < frame.size:
            raise self._damaged(k, "truncated", "the file ends inside the frame")
        reader = thread_decompressor.zstd.stream_reader(compressed)
        try:
            got = reader.readinto(buffer)
            surplus = reader.read(1)
        except zstandard.ZstdError as error:
            raise self._damaged(k, "corrupt", f"does not decompress ({in_words(error)})") from None
        if got != frame.content_size or surplus:
            raise self._damaged(
                k, "corrupt", f"does not decompress to the {frame.content_size:,} bytes listed"
            )

    def _damaged(self, k: int, reason: str, cause: str) -> DamagedShard:
        return DamagedShard(
            cause,
            reason=reason,
            shard=base_name(self.path),
            frame=k,
            document=self._first(k),
            num_documents=self.frames[k].num_documents,
        )


@dataclass(frozen=True, slots=True)
class _FrameLoader:
    """Picklable, so that pieces can be handed to other processes."""

    shard: Shard
    k: int

    def __call__(self, buffer: memoryview) -> None:
        self.shard.load(self.k, buffer)


def salvage(
    file: ByteRanges, damage: DamagedShard, *, max_document: int = MAX_DOCUMENT
) -> tuple[Shard, list[DamagedShard]]:
    """Recover a shard whose end is lost from the frames that still decode.

    Returns it with all its errors.
    """
    limit = max_document + MAX_FRAME_SIZE
    contents: dict[Span, tuple[int, int, int]] = {}
    with file.mapped() as data:

        def decodes(span: Span) -> bool:
            content = _look_through(data[span.start : span.end], limit)
            if content is not None:
                contents[span] = content
            return content is not None

        spans, num_damaged = salvage_frames(data, decodes)
    frames = []
    for span in spans:
        content_size, checksum, num_documents = contents[span]
        if num_documents:
            frames.append(
                Frame(span.start, span.end - span.start, content_size, checksum, num_documents)
            )
    lost = DamagedShard(
        "part of the file is not a readable frame", reason="corrupt", shard=base_name(file.path)
    )
    return Shard(file, tuple(frames), max_document=max_document), [damage, *[lost] * num_damaged]


def _look_through(frame: bytes, limit: int) -> tuple[int, int, int] | None:
    """Content size, checksum and number of documents of a frame, if it decodes within the limit."""
    reader = thread_decompressor.zstd.stream_reader(frame)
    buffer = memoryview(bytearray(PIECE_SIZE))
    hasher = xxhash.xxh64()
    size = num_documents = 0
    try:
        while got := reader.readinto(buffer):
            size += got
            if size > limit:
                return None
            hasher.update(buffer[:got])
            num_documents += bytes(buffer[:got]).count(b"\n")
    except zstandard.ZstdError:
        return None
    return size, hasher.intdigest() & 0xFFFFFFFF, num_documents


def shard_lines(
    path: str | os.PathLike[str], start: int = 0, stop: int | None = None
) -> Iterator[bytes]:
    """The JSON lines of documents `start` to `stop` of a shard, without their line ends."""
    file = ByteRanges(os.fspath(path))
    table = read_table(file)
    if table is None:
        raise DamagedShard("not a shard written by barrow", reason="no-index", shard=file.path)
    shard = Shard.of(file, table)
    stop = shard.num_documents if stop is None else min(stop, shard.num_documents)
    pool = BufferPool()
    for piece in shard.pieces(start, stop):
        buffer = pool.take(piece.size)[: piece.size]
        piece.load(buffer.data)
        ends = np.flatnonzero(buffer == 0x0A).tolist()
        starts = [0, *(end + 1 for end in ends)]
        here = slice(max(0, start - piece.first), min(piece.num_documents, stop - piece.first))
        for first, end in zip(starts[here], ends[here], strict=False):
            yield bytes(buffer.data[first:end])
