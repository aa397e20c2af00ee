"""The documents of a build, in parts of bounded size, one task each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Writer
from barrow.archive.catalog import read_catalog
from barrow.archive.piece import PIECE_SIZE
from barrow.archive.shard import read_table
from barrow.archive.storage import ByteRanges
from barrow.corpus.build.facts import load_names
from barrow.corpus.build.publish import INDEX, index_name
from barrow.engine import File, Output, Outputs
from barrow.errors import NotFound
from barrow.files import inside, write_part

PART_BYTES = 1 << 26

# Documents and bytes of JSON lines of each frame of a shard.
Frames = list[tuple[int, int]]

# The level of files between stages: on prose thirty times as fast to write and five times to read
# as level 3, for three times the disk until the build is done.
_QUICK = -1000


def quick_writer(shard: File, *, frame_size: int = PIECE_SIZE) -> Writer:
    """A writer of a shard that later stages read, and that no catalog lists."""
    return Writer(shard, level=_QUICK, frame_size=frame_size, hashed=False)


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


class Rejecting(Outputs):
    """What every stage that drops documents writes: the rejects, how many there are, and the frames
    of its shards by their names, which are known when the texts are gone.
    """

    rejects = Output("rejects.jsonl.zst", temporary=True)
    counts = Output("counts.json")
    frames = Output("frames.json")

    def save_frames(self, *shards: File) -> None:
        """Note the frames of the rejects, and of some other shards."""
        found = {file.path.name: frames_of(file) for file in (self.rejects, *shards)}
        write_part(self.frames.path, json.dumps(found).encode())

    def load_frames(self, shard: File) -> Frames:
        """The frames of a shard."""
        found = json.loads(self.frames.path.read_text())[shard.path.name]
        return [(number, size) for number, size in found]


def frames_of(shard: File) -> Frames:
    """The frames of a shard that is there."""
    table = read_table(ByteRanges(str(shard.path)))
    assert table is not None, f"{shard.path} is written by an earlier stage"
    return [(frame.num_documents, frame.content_size) for frame in table.frames]


def cut(
    file: File, frames: Frames, part_bytes: int = PART_BYTES, *, domain: str = ""
) -> list[Part]:
    """A shard, cut at frames into parts of about `part_bytes` of JSON lines."""
    parts = []
    start = number = size = 0
    for k, (num_documents, content_size) in enumerate(frames, 1):
        number += num_documents
        size += content_size
        if size >= part_bytes or (k == len(frames) and number > start):
            parts.append(Part(file, start, number, size, domain))
            start, size = number, 0
    return parts


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
