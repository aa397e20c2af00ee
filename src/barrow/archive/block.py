"""A block: the texts of a frame in one buffer, without an object per document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from barrow.archive.buffers import BufferPool
from barrow.archive.document import Document
from barrow.archive.piece import Piece
from barrow.archive.records import FIELDS, RecordForm
from barrow.archive.scan import Bytes, Offsets, scan
from barrow.errors import BadRecord

_METAS = msgspec.json.Decoder(list[dict[str, Any]])


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Documents as arrays.

    Text i is ``text[offsets[i]:offsets[i + 1]]``, in UTF-8; its meta, a JSON object, is
    ``meta[meta_offsets[i]:meta_offsets[i + 1] - 1]``. `numbers` are the documents' numbers within
    the shard, `content_bytes` the size of the JSON lines of the whole frame they were read from.
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
            raise ValueError("a block can only be sliced with step 1")
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
        return str(self.text[self.offsets[i] : self.offsets[i + 1]].data, "utf-8")

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


def read_block(
    piece: Piece, form: RecordForm, pool: BufferPool
) -> tuple[Block, Iterable[BadRecord]]:
    """Decompress and scan a piece; a block holds texts and metas, whatever fields are asked for."""
    scanned = scan(piece, form.text_key, pool)
    if scanned is not None and scanned.metas() is not None:
        block = Block(
            scanned.text,
            scanned.offsets,
            scanned.meta,
            scanned.meta_offsets,
            piece.shard,
            piece.frame,
            range(piece.first, piece.first + piece.num_documents),
            piece.size,
        )
        return block, ()
    parsed = replace(form, fields=FIELDS).parse(piece.lines(), piece)
    return _pack(parsed.documents, parsed.numbers, piece), parsed.bad


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
