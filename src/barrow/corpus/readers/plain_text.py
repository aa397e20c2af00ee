"""Plain text files, one document each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.reading import Item, Reader, Reject, excerpt
from barrow.corpus.text_encoding import decode


def read(path: Path) -> Iterator[Item]:
    """The file."""
    data = path.read_bytes()
    found = decode(data)
    if found is None:
        yield Reject("unknown-encoding", "no encoding makes text of it", "", excerpt(data))
    else:
        yield Document(found[0], {"member": ""})


READER = Reader(name="plain_text", version=1, read=read, patterns=("**/*.txt",))
