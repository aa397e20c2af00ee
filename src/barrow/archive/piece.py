"""A piece: whole JSON lines of one file that are read and parsed together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from barrow.errors import ArchiveError

# Target size of our frames, and of the pieces that other files are read in.
PIECE_SIZE = 1 << 20

# A longer line is refused, to bound the memory of readers.
MAX_DOCUMENT = 1 << 28

# The largest target size of a frame; the document that reaches it may be longer.
MAX_FRAME_SIZE = 1 << 26

# White space of JSON; bytes.strip() alone would also strip form feeds.
WHITE = b" \t\r\n"
_BEGINS_WHITE = re.compile(rb"\n[ \t\r\n]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A frame of a shard, or the next part of a file without frames.

    `first` is the number, within the file, of its first document. `load` fills a buffer of `size`
    bytes with the lines, and may be called again.
    """

    shard: str
    frame: int
    first: int
    num_documents: int
    size: int
    load: Callable[[memoryview], None]

    def lines(self) -> bytes:
        """The lines, in newly allocated memory."""
        buffer = bytearray(self.size)
        self.load(memoryview(buffer))
        return bytes(buffer)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A record that is bad before it is parsed, and how it begins."""

    reason: str
    cause: str
    start: bytes

    @classmethod
    def too_long(cls, start: bytes | bytearray, limit: int) -> BadLine:
        """A record over the limit."""
        cause = (
            f"the record is longer than {limit:,} bytes; raise max_document= if this is intended"
        )
        return cls("too-long", cause, bytes(start[:200]))


class Source(Protocol):
    """One file of an archive."""

    path: str

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece | ArchiveError]:
        """Pieces with the documents from `start` to `stop`, and errors in between."""

    @property
    def num_documents(self) -> int:
        """Records in the file; without an index, all of it is read to count them."""

    @property
    def size(self) -> int:
        """Bytes on disk."""


def is_blank(line: bytes) -> bool:
    """Whether a line is blank, and so not a record."""
    return not line.strip(WHITE)


def count_lines(data: bytes | memoryview) -> int:
    """Lines that are not blank."""
    raw = bytes(data) if isinstance(data, memoryview) else data
    if raw[:1] in (b"\n", b" ", b"\t", b"\r") or _BEGINS_WHITE.search(raw):
        return sum(1 for line in raw.split(b"\n") if not is_blank(line))
    return raw.count(b"\n") + (0 if raw.endswith(b"\n") or not raw else 1)
