"""The documents of a build in parts of bounded size, which tasks work on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from barrow.archive.catalog import read_catalog
from barrow.archive.shard import read_table
from barrow.archive.storage import ByteRanges
from barrow.corpus.publish import INDEX, index_name
from barrow.errors import NotFound
from barrow.files import inside

PART_BYTES = 1 << 26

# The level of what is written between stages, to be read again soon: twice as fast as level 3 to
# write, and to read, for twice the disk.
QUICK = -7


@dataclass(frozen=True)
class Part:
    """Documents `start` to `stop` of a file, whose content `key` names.

    `domain` is the folder they were read from. A part of a finished corpus has its facts already.
    """

    file: Path
    key: str
    start: int
    stop: int
    size: int
    domain: str = ""
    facts: Path | None = None

    def __len__(self) -> int:
        return self.stop - self.start


def cut(file: Path, key: str, part_bytes: int = PART_BYTES, *, domain: str = "") -> list[Part]:
    """A file of ours, cut at frames into parts of about `part_bytes` of JSON lines."""
    table = read_table(ByteRanges(str(file)))
    assert table is not None, f"{file} is written by an earlier stage"
    parts: list[Part] = []
    start = number = size = 0
    for frame in table.frames:
        number += frame.num_documents
        size += frame.content_size
        if size >= part_bytes:
            parts.append(Part(file, key, start, number, size, domain))
            start, size = number, 0
    if number > start:
        parts.append(Part(file, key, start, number, size, domain))
    return parts


def known_parts(corpus: Path) -> list[Part]:
    """The shards of a finished corpus, with its index."""
    parts = []
    for folder in (corpus, corpus / "validation", corpus / "test"):
        if not (folder / "archive.json").exists():
            continue
        for entry in read_catalog(str(folder)).shards:
            facts = inside(folder, f"{INDEX}/{index_name(entry.name)}")
            if not facts.exists():
                raise NotFound(f"{corpus} has no index to deduplicate against; build it again")
            size = entry.content_bytes
            path = folder / entry.name
            parts.append(Part(path, entry.sha256, 0, entry.documents, size, facts=facts))
    if not parts:
        raise NotFound(f"{corpus} is no corpus to deduplicate against")
    return parts
