"""Rejects of many tasks to shards of even size, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

import barrow.archive
from barrow.archive import Writer
from barrow.corpus.build.parts import Rejecting
from barrow.corpus.build.publish import Shard
from barrow.engine import File, Stage, Task
from barrow.files import write_part


@dataclass(frozen=True)
class Settings:
    """For each file, the range of documents to take."""

    ranges: tuple[tuple[int, int], ...]


def assemble_tasks(results: Iterable[Rejecting], shard_size: int) -> list[Task[Shard]]:
    """Cut the rejects of some tasks, in order, into shards of about `shard_size` bytes."""
    shards: list[list[tuple[File, tuple[int, int]]]] = [[]]
    sizes = [0]
    for result in results:
        file = result.rejects
        start = number = 0
        for num_documents, content_size in result.load_frames(file):
            number += num_documents
            sizes[-1] += content_size
            if sizes[-1] >= shard_size:
                shards[-1].append((file, (start, number)))
                shards.append([])
                sizes.append(0)
                start = number
        if number > start:
            shards[-1].append((file, (start, number)))
    return [
        ASSEMBLE.task(
            f"rejects, shard {k}",
            Settings(tuple(span for _, span in parts)),
            tuple(file for file, _ in parts),
            size=size,
        )
        for k, (parts, size) in enumerate(zip(shards, sizes, strict=True))
        if parts
    ]


def assemble(settings: Settings, files: tuple[File, ...], out: Shard) -> None:
    """Write one shard from parts of files, and its entry for the catalog."""
    with Writer(out.shard) as writer:
        for file, (start, stop) in zip(files, settings.ranges, strict=True):
            writer.extend(barrow.archive.open(file, threads=1)[start:stop])
    write_part(out.entry.path, msgspec.json.encode(writer.entries[0]))


ASSEMBLE = Stage("corpus.assemble", 1, assemble, Shard)
