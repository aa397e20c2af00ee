"""Rejects of many tasks to shards of even size, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import barrow.archive
from barrow.archive import Writer
from barrow.archive.shard import read_table
from barrow.archive.storage import ByteRanges
from barrow.corpus.publish import ENTRY, SHARD

VERSION = 1


@dataclass(frozen=True, slots=True)
class Part:
    """Documents from `start` to `stop` of one file."""

    file: str
    start: int
    stop: int


def plan_shards(files: list[str], shard_size: int) -> list[list[Part]]:
    """Cut the documents of some files, in order, into shards of about `shard_size` bytes."""
    shards: list[list[Part]] = []
    current: list[Part] = []
    size = 0
    for file in files:
        start = number = 0
        for num_documents, content_size in _frames(file):
            number += num_documents
            size += content_size
            if size >= shard_size:
                current.append(Part(file, start, number))
                shards.append(current)
                current, size, start = [], 0, number
        if number > start:
            current.append(Part(file, start, number))
    if current:
        shards.append(current)
    return shards


def _frames(file: str) -> Iterator[tuple[int, int]]:
    table = read_table(ByteRanges(file))
    assert table is not None, f"{file} is written by an earlier stage"
    for frame in table.frames:
        yield frame.num_documents, frame.content_size


def assemble(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Write one shard from parts of files, and what a catalog says about it."""
    with Writer(out / SHARD) as writer:
        for file, (start, stop) in zip(files, settings["ranges"], strict=True):
            writer.extend(barrow.archive.open(file, threads=1)[start:stop])
    (out / ENTRY).write_bytes(msgspec.json.encode(writer.entries[0]))
