"""A piece: whole JSON lines of one file that are read and parsed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from barrow.errors import ArchiveError

# Size of the pieces that files without frames are read in, and the target size of our frames.
PIECE_SIZE = 1 << 20

# A longer line is refused: whoever reads a file should not need more memory than this.
MAX_DOCUMENT = 1 << 28

# Only where a line begins with one of these can it be blank.
_BLANK = (b"\n", b" ", b"\t", b"\r")


@dataclass(frozen=True, slots=True)
class Piece:
    """
    A frame of a shard, or what was read next of a file without frames.

    `first` is the number, within the file, of its first document. `load` fills a buffer of `size`
    bytes with the lines, and may be called again.
    """

    shard: str
    frame: int
    first: int
    num_documents: int
    size: int
    load: Callable[[memoryview], None]


class Source(Protocol):
    """One file of an archive."""

    path: str

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece | ArchiveError]:
        """Pieces that hold the documents from `start` to `stop`, and what is wrong in between."""

    @property
    def num_documents(self) -> int:
        """Records in the file; a file without an index is read through to count them."""

    @property
    def size(self) -> int:
        """Bytes on disk."""


def count_lines(data: bytes | memoryview) -> int:
    """Lines with something on them. A line of white space is not a record."""
    raw = bytes(data) if isinstance(data, memoryview) else data
    if raw.startswith(_BLANK) or any(b"\n" + white in raw for white in _BLANK):
        return sum(1 for line in raw.split(b"\n") if line.strip())
    return raw.count(b"\n") + (0 if raw.endswith(b"\n") or not raw else 1)
