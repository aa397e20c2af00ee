"""Finding a document of a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import barrow.archive
from barrow.archive import Document
from barrow.errors import NotFound


@dataclass(frozen=True, slots=True)
class Found:
    """A document and its place."""

    shard: str
    frame: int
    number: int
    document: Document


def find_document(path: str, wanted: str) -> Found:
    """The document with an id, or with a number in the archive."""
    archive = barrow.archive.open(path)
    if wanted.isdigit():
        number = int(wanted)
        if number >= len(archive):
            raise NotFound(f"document {number} is out of range: the corpus has {len(archive):,}")
        archive = archive[number : number + 1]
    first = int(wanted) if wanted.isdigit() else 0
    for block in archive.blocks():
        # An id is in the raw meta as written; most frames need no parsing.
        if wanted.isdigit() or wanted.encode() in block.meta_array():
            for i, meta in enumerate(block.metas()):
                if wanted.isdigit() or meta.get("id") == wanted:
                    document = Document(block.text_of(i), meta)
                    return Found(block.shard, block.frame, first + i, document)
        first += len(block)
    raise NotFound(f"no document {wanted!r} in {path}; pass its id or its number")
