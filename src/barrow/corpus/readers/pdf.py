"""Papers in PDF, as PhilPapers lists them: one document per file.

A PDF has the positions of characters; words, lines and paragraphs are reconstructed from them. Kept
is the reading text: columns one after the other, notes after the paragraph in which the foot of
their page falls, paragraphs on one line each, headings on lines of their own, words whole. Running
heads and feet and page numbers are dropped, as is text that is set at an angle to the rest of its
page. Files without text, with garbage because their fonts lack a character mapping, and those with
a password are rejects.

PDFium does the parsing, in a separate process, since files may be made to crash it. The Pile keeps
papers of `min_characters` and more.

Licence: each paper's own; PhilPapers lists open-access copies, few of which may be passed on.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from barrow.archive import Document
from barrow.corpus.input.isolated import Failure, isolated
from barrow.corpus.input.open_raw import shown
from barrow.corpus.input.unpack import BadArchive, kind_of, members, open_unpacked
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.errors import MissingExtra

_HEAD = 1024  # the header may come after so many bytes


@dataclass(frozen=True)
class Pdf(Reader):
    """PDF files, also in tar or zip: paragraphs in reading order, without headers and footers.

    A file larger than `max_bytes`, of more pages than `max_pages`, or that takes PDFium longer
    than `seconds` or more than `memory` bytes, is a reject.
    """

    min_characters: int = 1000
    max_bytes: int = 1 << 28
    max_pages: int = 20_000
    seconds: float = 30
    memory: int = 2 << 30

    extractor = "pdf/1"
    patterns = (
        *("**/*.pdf", "**/*.PDF", "**/*.pdf.gz"),
        *("**/*.tar", "**/*.tar.gz", "**/*.tgz", "**/*.tar.zst", "**/*.zip"),
    )

    def read(self, path: Path) -> Iterator[Item]:
        if importlib.util.find_spec("pypdfium2") is None:
            raise MissingExtra("pypdfium2", "pdf", "the reader 'pdf'")
        extract = isolated(
            "barrow.corpus.text.pdf.text:pdf_text", seconds=self.seconds, memory=self.memory
        )

        def document(file: BinaryIO, member: str) -> Item:
            data = file.read(self.max_bytes + 1)
            while 0 < len(data) <= self.max_bytes and (
                more := file.read(self.max_bytes + 1 - len(data))
            ):
                data += more
            if len(data) > self.max_bytes:
                return Reject("too-large", f"more than {self.max_bytes:,} bytes", member)
            if b"%PDF-" not in data[:_HEAD]:
                return Reject(
                    "not-a-pdf",
                    "it does not begin with the header of a PDF",
                    member,
                    excerpt(data[:200]),
                )
            return _item(extract(data, max_pages=self.max_pages), member, self.min_characters)

        try:
            if kind_of(path) in ("tar", "zip"):
                for member in members(path):
                    if isinstance(member, Reject):
                        yield member
                    elif not member.name.lower().endswith(".pdf"):
                        yield Reject("unknown-file", "not a .pdf", member.name)
                    else:
                        try:
                            yield document(member.open(), shown(member.name))
                        except BadArchive as error:
                            yield error.as_reject(member.name)
            else:
                with open_unpacked(path) as file:
                    yield document(file, "")
        except BadArchive as error:
            yield error.as_reject()


def _item(found: object, member: str, min_characters: int) -> Item:
    if isinstance(found, Failure):
        reason = "malformed" if found.reason == "raised" else found.reason
        return Reject(reason, found.cause, member)
    assert isinstance(found, dict)
    if "reason" in found:
        return Reject(found["reason"], found["cause"], member, excerpt(found["text"]))
    text = found["text"]
    if len(text) < min_characters:
        return Reject("too-short", f"{len(text)} characters", member, excerpt(text))
    return Document(text, {"member": member, **found["meta"]} if member else found["meta"])
