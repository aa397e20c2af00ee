"""Records that are already documents: JSON lines, JSON, parquet, and our archives.

Read through `barrow.archive.open`, so every form it knows is read here: .jsonl and .json, plain,
gzip or zstandard, .parquet, shards. `meta` is kept; `member` is the record's number in the file.
What the archive counts as bad is a reject under the archive's own reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import barrow.archive
from barrow.archive import Document
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.errors import BarrowError


@dataclass(frozen=True)
class Records(Reader):
    """JSON lines, JSON and parquet: a document per record, its text in the column `text_key`."""

    text_key: str = "text"
    max_document: int = 1 << 28

    extractor = "records/1"
    patterns = tuple(
        f"**/*{suffix}"
        for suffix in (".jsonl", ".jsonl.zst", ".jsonl.gz", ".ndjson", ".json", ".parquet")
    )

    def read(self, path: Path) -> Iterator[Item]:
        try:
            archive = barrow.archive.open(
                path,
                text_key=self.text_key,
                on_bad="count",
                max_document=self.max_document,
                threads=1,
            )
            for block in archive.blocks():
                yield from _rejects(archive.bad)
                for i, (number, meta) in enumerate(zip(block.numbers, block.metas(), strict=True)):
                    yield Document(block.text_of(i), {"member": str(number), **meta})
            yield from _rejects(archive.bad)
        except (BarrowError, OSError, ValueError) as error:
            yield Reject("unreadable", str(error))


def _rejects(bad: barrow.archive.BadLog) -> Iterator[Reject]:
    """Rejects for what was counted since the last call; the log is emptied to stay small."""
    for error in bad.examples:
        member = "" if error.document is None else str(error.document)
        yield Reject(error.reason, error.cause, member, excerpt(error.raw or b""))
    more = len(bad) - len(bad.examples)
    if more > 0:
        yield Reject("too-many-bad-records", f"{more:,} more bad records in the same part")
    bad.examples.clear()
    bad.counts.clear()
