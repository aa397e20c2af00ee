"""A reader: quotations in one file, a line with a percent sign between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow import Document
from barrow.corpus import Reader, Reject


@dataclass(frozen=True)
class Fortunes(Reader):
    """One document for each quotation that has at least `min_characters`."""

    min_characters: int = 1

    extractor = "fortunes/1"  # raise the number when the output for the same bytes changes
    patterns = ("**/*.fortunes",)

    def read(self, path: Path) -> Iterator[Document | Reject]:
        for number, text in enumerate(path.read_text().split("\n%\n")):
            if len(text) < self.min_characters:
                yield Reject("too-short", f"{len(text)} characters", str(number), text)
            else:
                yield Document(text, {"member": str(number)})
