"""US patents and applications: their background sections, in every form the USPTO has published.

The Greenbook (APS text, 1976 to 2001) and the BRS text made of it; ST.32, as SGML in 2001 and as
XML until 2004; the XML of grants and applications since (us-patent-grant, us-patent-application,
patent-application-publication). A file is one document or a week of them in a row, as it is, in a
.zip or compressed.

A document is the title, a blank line, and the background, a paragraph per line: from the heading
that names a background, a field, related or prior art, to the one that names what follows. A patent
without such a heading is rejected rather than guessed at. Tables, mathematics, chemistry and images
are dropped, as are the paragraphs about related applications and funding.

Licence: the text of US patents is in the public domain, with rare exceptions that a patent states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from barrow.archive import Document
from barrow.corpus.input.unpack import BadArchive, kind_of, members, open_unpacked
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.readers.uspto.aps import aps_blocks
from barrow.corpus.readers.uspto.background import background
from barrow.corpus.readers.uspto.patent import Block, NotAPatent, Patent
from barrow.corpus.readers.uspto.split import Piece, split_patents
from barrow.corpus.readers.uspto.xml import sgml_blocks, xml_blocks
from barrow.corpus.text.encoding import decode
from barrow.corpus.text.whitespace import tidy
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.repair import declared_encoding
from barrow.errors import ConfigError

Section = Literal["background", "description", "all"]

_PARSERS = {"xml": xml_blocks, "sgml": sgml_blocks, "lines": aps_blocks}


_ENDINGS = ("xml", "sgm", "sgml", "txt", "greenbook", "brs")


@dataclass(frozen=True)
class Uspto(Reader):
    """USPTO patents (XML, SGML, APS): the background, the description, or the whole text of each.

    A patent of more than `max_bytes` is not read. Reasons: ``no-background``, ``design-patent`` and
    ``plant-patent`` (without a background), ``no-text``, ``broken-xml``, ``not-a-patent``,
    ``unknown-encoding``, ``too-large``, and those of packed files.
    """

    section: Section = "background"
    max_bytes: int = 1 << 27

    extractor = "uspto/2"
    patterns = (
        *(f"**/*.{ending}" for ending in (*_ENDINGS, "zip")),
        *(f"**/*.{ending.upper()}" for ending in (*_ENDINGS, "zip")),
        *(f"**/*.{ending}.gz" for ending in _ENDINGS),
    )

    def __post_init__(self) -> None:
        if self.section not in ("background", "description", "all"):
            raise ConfigError(
                f"section must be background, description or all, got {self.section!r}"
            )

    def read(self, path: Path) -> Iterator[Item]:
        return _read(path, self.section, self.max_bytes)


def _read(path: Path, section: Section, max_bytes: int) -> Iterator[Item]:
    try:
        if kind_of(path) in ("zip", "tar"):
            for member in members(path):
                if isinstance(member, Reject):
                    yield member
                    continue
                try:
                    yield from _patents(member.open(), section, max_bytes, member.name)
                except BadArchive as error:
                    yield error.as_reject(member.name)
        else:
            with open_unpacked(path) as file:
                yield from _patents(file, section, max_bytes, "")
    except BadArchive as error:
        yield error.as_reject()


def _patents(file: BinaryIO, section: Section, max_bytes: int, name: str) -> Iterator[Item]:
    for number, piece in enumerate(split_patents(file, max_bytes=max_bytes), 1):
        place = f"{name or 'document'} {number}"
        if piece.form == "unknown":
            cause = "no patent begins in it" if piece.data else "the file is empty"
            yield Reject("not-a-patent", cause, name, excerpt(piece.data))
        elif not piece.is_whole:
            yield Reject("too-large", f"over {max_bytes:,} bytes", place, excerpt(piece.data))
        else:
            yield _item(piece, section, place)


def _item(piece: Piece, section: Section, place: str) -> Item:
    # What is not UTF-8 is Windows-1252, unless declared otherwise.
    found = decode(piece.data, declared_encoding(piece.data) or "cp1252")
    shown = excerpt(piece.data)
    if found is None:
        return Reject("unknown-encoding", "unknown encoding", place, shown)
    patent = Patent()
    try:
        lines = _chosen(_PARSERS[piece.form](found[0], patent), section)
    except NotAPatent as error:
        return Reject("not-a-patent", str(error), place, shown)
    except BadXml as error:
        return Reject("broken-xml", str(error), patent.name or place, shown)
    text = tidy("\n".join(lines or ()))
    if not text.strip():
        return _without_text(patent, section, patent.name or place, shown)
    title = " ".join(tidy(patent.title).split())
    return Document(f"{title}\n\n{text}" if title else text, _meta(patent, title, place))


def _chosen(blocks: Iterator[Block], section: Section) -> list[str] | None:
    if section == "background":
        return background(blocks)
    left_out = ("",) if section == "all" else ("", "abstract", "claims")
    return [block.text for block in blocks if block.part not in left_out]


def _without_text(patent: Patent, section: Section, member: str, shown: str) -> Reject:
    if section != "background":
        return Reject("no-text", f"nothing in the section {section}", member, shown)
    if patent.sort in ("design", "plant"):
        cause = f"a {patent.sort} patent; no heading marks a background"
        return Reject(f"{patent.sort}-patent", cause, member, shown)
    return Reject("no-background", "no heading marks a background", member, shown)


def _meta(patent: Patent, title: str, place: str) -> dict[str, str]:
    name = patent.name
    values = {
        "title": title,
        "url": f"https://patents.google.com/patent/{name}" if name else "",
        "date": patent.date,
        "language": "en",
        "member": name or place,
        "patent": patent.number,
        "kind": "application" if patent.is_application else "grant",
        "kind_code": patent.kind_code,
        "country": patent.country or "US",
    }
    return {key: value for key, value in values.items() if value}
