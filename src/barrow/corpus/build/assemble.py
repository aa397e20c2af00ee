"""Rejects of many tasks to shards of even size, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

import barrow.archive
from barrow.archive import Writer
from barrow.archive.shard import read_table
from barrow.archive.storage import ByteRanges
from barrow.corpus.build.publish import Shard
from barrow.engine import File, Stage, Task


@dataclass(frozen=True)
class Settings:
    """For each file, the range of documents to take."""

    ranges: tuple[tuple[int, int], ...]


def assemble_tasks(files: Iterable[File], shard_size: int) -> list[Task[Shard]]:
    """Cut the documents of some files, in order, into shards of about `shard_size` bytes."""
    shards: list[list[tuple[File, tuple[int, int]]]] = [[]]
    size = 0
    for file in files:
        start = number = 0
        for num_documents, content_size in _frames(file):
            number += num_documents
            size += content_size
            if size >= shard_size:
                shards[-1].append((file, (start, number)))
                shards.append([])
                size, start = 0, number
        if number > start:
            shards[-1].append((file, (start, number)))
    return [
        ASSEMBLE.task(
            f"rejects, shard {k}",
            Settings(tuple(span for _, span in parts)),
            tuple(file for file, _ in parts),
            size=sum(file.path.stat().st_size for file, _ in parts),
        )
        for k, parts in enumerate(shards)
        if parts
    ]


def _frames(file: File) -> Iterator[tuple[int, int]]:
    table = read_table(ByteRanges(str(file.path)))
    assert table is not None, f"{file.path} is written by an earlier stage"
    for frame in table.frames:
        yield frame.num_documents, frame.content_size


def assemble(settings: Settings, files: tuple[File, ...], out: Shard) -> None:
    """Write one shard from parts of files, and its entry for the catalog."""
    with Writer(out.shard) as writer:
        for file, (start, stop) in zip(files, settings.ranges, strict=True):
            writer.extend(barrow.archive.open(file, threads=1)[start:stop])
    out.entry.path.write_bytes(msgspec.json.encode(writer.entries[0]))


ASSEMBLE = Stage("corpus.assemble", 1, assemble, Shard)
