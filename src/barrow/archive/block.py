"""A block: the texts of a frame in one buffer, for work without an object per document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.archive.document import Document
from barrow.archive.piece import Piece
from barrow.archive.records import RecordForm
from barrow.errors import BadRecord

if TYPE_CHECKING:
    from barrow.archive.buffers import BufferPool

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

_METAS = msgspec.json.Decoder(list[dict[str, Any]])
_RAW_METAS = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """
    Documents as arrays.

    Text i is ``text[offsets[i]:offsets[i + 1]]``, in UTF-8; its meta, a JSON object, is
    ``meta[meta_offsets[i]:meta_offsets[i + 1] - 1]``. `numbers` are the documents' numbers within
    the shard, `content_bytes` the size of the JSON lines they were read from.
    """

    text: Bytes
    offsets: Offsets
    meta: Bytes
    meta_offsets: Offsets
    shard: str
    frame: int
    numbers: Sequence[int]
    content_bytes: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, span: slice) -> Block:
        """Some of the documents, in the same buffers."""
        start, stop, step = span.indices(len(self))
        if step != 1:
            raise ValueError("a block is sliced in steps of 1")
        stop = max(start, stop)
        return Block(
            self.text,
            self.offsets[start : stop + 1],
            self.meta,
            self.meta_offsets[start : stop + 1],
            self.shard,
            self.frame,
            self.numbers[start:stop],
            self.content_bytes,
        )

    @property
    def num_text_bytes(self) -> int:
        """UTF-8 bytes of all texts."""
        return int(self.offsets[-1] - self.offsets[0])

    def text_of(self, i: int) -> str:
        """Text i."""
        return self.text[self.offsets[i] : self.offsets[i + 1]].tobytes().decode()

    def meta_array(self) -> bytes:
        """All metas as one JSON array."""
        return b"[%b]" % self.meta[self.meta_offsets[0] : self.meta_offsets[-1] - 1].tobytes()

    def metas(self) -> list[dict[str, Any]]:
        """All metas."""
        return _METAS.decode(self.meta_array()) if len(self) else []

    def documents(self) -> Iterator[Document]:
        """The documents, one object each."""
        for i, meta in enumerate(self.metas()):
            yield Document(self.text_of(i), meta)


@cache
def _scanner() -> Any:
    # numba is loaded only by those who work on blocks.
    from barrow.archive import scan

    return scan


@cache
def _key(name: str) -> Bytes:
    """A key as `scan_lines` wants it; keys that JSON would escape are left to the general path."""
    return np.frombuffer(msgspec.json.encode(name)[1:], np.uint8)


def read_block(piece: Piece, form: RecordForm, pool: BufferPool) -> tuple[Block, list[BadRecord]]:
    """Decompress and scan a piece."""
    scan = _scanner()
    end = scan.GAP + piece.size
    buffer = pool.take(end + scan.SLACK)
    piece.load(memoryview(buffer)[scan.GAP : end])  # type: ignore[arg-type]
    buffer[end : end + scan.SLACK] = 0
    # A line `{"text":""}` without meta becomes `{},`: the array is no longer than the lines.
    meta = pool.take(piece.size + scan.SLACK)
    offsets = np.empty(piece.num_documents + 1, np.int64)
    meta_offsets = np.empty(piece.num_documents + 1, np.int64)
    n = scan.scan_lines(buffer, end, _key(form.text_key), _key("meta"), offsets, meta, meta_offsets)
    if n == piece.num_documents and _is_array(meta[: int(meta_offsets[n])]):
        numbers = range(piece.first, piece.first + n)
        return Block(
            buffer, offsets, meta, meta_offsets, piece.shard, piece.frame, numbers, piece.size
        ), []
    # Scanning wrote over the lines, so load them again.
    lines = bytearray(piece.size)
    piece.load(memoryview(lines))
    parsed = form.parse_each(bytes(lines), piece)
    return _pack(parsed.documents, parsed.numbers, piece), parsed.bad


def _is_array(meta: Bytes) -> bool:
    try:
        _RAW_METAS.decode(meta.data)
        # The decoder does not look into the strings it skips.
        return bool(meta.max() < 0x80) or bool(meta.tobytes().decode())
    except (ValueError, RecursionError):
        return False


def _pack(documents: list[Document], numbers: Sequence[int], piece: Piece) -> Block:
    texts = [document.text.encode() for document in documents]
    metas = [msgspec.json.encode(document.meta) + b"," for document in documents]
    return Block(
        np.frombuffer(b"".join(texts), np.uint8),
        _offsets(texts, 0),
        np.frombuffer(b"[" + b"".join(metas), np.uint8),
        _offsets(metas, 1),
        piece.shard,
        piece.frame,
        numbers,
        piece.size,
    )


def _offsets(parts: list[bytes], start: int) -> Offsets:
    return np.cumsum([start, *map(len, parts)], dtype=np.int64)
