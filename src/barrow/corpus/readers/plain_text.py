"""Plain text: a file of any encoding, one document.

Kept: the text, with one kind of line end, without control characters, trailing blanks and runs of
blank lines. Rejected: what `load_raw` rejects, and files that are ``binary`` or in an
``unknown-encoding``. The first line is not taken for a title. The licence is the recipe's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.encoding import decode
from barrow.corpus.text.whitespace import is_binary, tidy


@dataclass(frozen=True)
class PlainText(Reader):
    """Plain text: a document per file, its encoding detected."""

    max_bytes: int = 1 << 26

    extractor = "plain_text/2"
    patterns = ("**/*.txt", "**/*.text")

    def read(self, path: Path) -> Iterator[Item]:
        text = read_text(path, self.max_bytes)
        yield text if isinstance(text, Reject) else Document(tidy(text[0]), {"encoding": text[1]})


def read_text(path: Path, max_bytes: int) -> tuple[str, str] | Reject:
    """The decoded text of a file and its encoding."""
    data = load_raw(path, max_bytes=max_bytes)
    if isinstance(data, Reject):
        return data
    found = decode(data)
    if found is None:
        return Reject("unknown-encoding", "not text in any encoding", "", excerpt(data))
    if is_binary(found[0]):
        return Reject("binary", "mostly control characters", "", excerpt(data))
    return found
