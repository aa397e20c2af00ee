"""The lines of a shard as they are, for whoever moves documents without looking into them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from barrow.archive.shard import Shard, read_table
from barrow.archive.storage import ByteRanges
from barrow.errors import DamagedShard


def shard_lines(
    path: str | os.PathLike[str], start: int = 0, stop: int | None = None
) -> Iterator[bytes]:
    """The JSON lines of documents `start` to `stop` of a shard, without their line ends."""
    file = ByteRanges(os.fspath(path))
    table = read_table(file)
    if table is None:
        raise DamagedShard("not a shard of ours", reason="no-index", shard=file.path)
    shard = Shard.of(file, table)
    stop = shard.num_documents if stop is None else min(stop, shard.num_documents)
    for piece in shard.pieces(start, stop):
        lines = piece.lines().split(b"\n")
        yield from lines[max(0, start - piece.first) : min(piece.num_documents, stop - piece.first)]
