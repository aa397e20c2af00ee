"""What readers yield from a file that a test wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from barrow import Document
from barrow.corpus.readers.reader import Item, Reject


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def sorted_out(items: Iterable[Item]) -> tuple[list[Document], list[Reject]]:
    """Documents and rejects: their strings can be written as UTF-8, and no field is empty."""
    documents: list[Document] = []
    rejects: list[Reject] = []
    for item in items:
        if isinstance(item, Document):
            item.text.encode()
            json.dumps(item.meta, ensure_ascii=False).encode()
            assert "" not in item.meta.values()
            documents.append(item)
        else:
            assert isinstance(item, Reject)
            (item.cause + item.member + item.excerpt).encode()
            rejects.append(item)
    return documents, rejects
