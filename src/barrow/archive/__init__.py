"""jsonl.zst on disk: write, read, jump to document i, verify."""

from __future__ import annotations

from barrow.archive.bad_records import BadLog
from barrow.archive.block import Block
from barrow.archive.catalog import Catalog, read_catalog
from barrow.archive.composition import Composition, Share, composition
from barrow.archive.document import Document
from barrow.archive.open import open
from barrow.archive.reader import Archive, Frame
from barrow.archive.verify import Verification, verify
from barrow.archive.writer import Writer

__all__ = [
    "Archive",
    "BadLog",
    "Block",
    "Catalog",
    "Composition",
    "Document",
    "Frame",
    "Share",
    "Verification",
    "Writer",
    "composition",
    "open",
    "read_catalog",
    "verify",
]
