"""The documents of a build, in parts of bounded size, one task each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from barrow.archive.catalog import read_catalog
from barrow.archive.shard import read_table
from barrow.archive.storage import ByteRanges
from barrow.corpus.build.facts import load_names
from barrow.corpus.build.publish import INDEX, index_name
from barrow.engine import File
from barrow.errors import NotFound
from barrow.files import inside

PART_BYTES = 1 << 26

# The level of files between stages: twice as fast as level 3 to write and to read, for twice the
# disk.
QUICK = -7


@dataclass(frozen=True)
class Part:
    """Documents `start` to `stop` of a file; `domain` is the folder they were read from."""

    file: File
    start: int
    stop: int
    size: int
    domain: str = ""

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def label(self) -> str:
        """For the progress display."""
        return f"{self.file.path.name} from {self.start}"


@dataclass(frozen=True)
class PartFiles:
    """Files of a part: documents as they were read, their facts, and the rewritten documents. A
    finished corpus has no rewritten ones.
    """

    documents: File
    facts: File
    changed: File | None


@dataclass(frozen=True)
class Examined:
    """An examined part, and the names of its domains."""

    part: Part
    files: PartFiles
    domains: tuple[str, ...]

    @classmethod
    def of(cls, part: Part, facts: File, changed: File | None = None) -> Examined:
        """With the names of its facts."""
        return cls(part, PartFiles(part.file, facts, changed), tuple(load_names(facts)[0]))

    def __len__(self) -> int:
        return len(self.part)


def cut(file: File, part_bytes: int = PART_BYTES, *, domain: str = "") -> list[Part]:
    """A shard, cut at frames into parts of about `part_bytes` of JSON lines."""
    table = read_table(ByteRanges(str(file.path)))
    assert table is not None, f"{file.path} is written by an earlier stage"
    return [Part(file, *span, domain) for span in table.spans(part_bytes)]


def known_parts(corpus: Path) -> list[Examined]:
    """The shards of a finished corpus, with its index."""
    parts = []
    for folder in (corpus, corpus / "validation", corpus / "test"):
        if not (folder / "archive.json").exists():
            continue
        for entry in read_catalog(str(folder)).shards:
            facts = inside(folder, f"{INDEX}/{index_name(entry.name)}")
            if not facts.exists():
                raise NotFound(f"{corpus} has no index to deduplicate against; build it again")
            shard = File(folder / entry.name, entry.sha256)
            part = Part(shard, 0, entry.documents, entry.content_bytes)
            parts.append(Examined.of(part, File(facts, f"{entry.sha256}/{INDEX}")))
    if not parts:
        raise NotFound(
            f"{corpus} is not a corpus; deduplication.against must name finished corpora"
        )
    return parts
