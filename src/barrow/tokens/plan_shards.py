"""Which pieces make a shard.

The plan depends on the pieces alone. What is added at the end leaves all shards but the last as
they were. What changes in the middle changes the shard it is in and perhaps the next few: a shard
may end, from half its size on, after a piece whose hash says so, and then old and new boundaries
soon fall together again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from barrow.tokens.pieces import Piece

Item = TypeVar("Item")


def plan_shards(
    items: Iterable[tuple[Piece, Item]], *, shard_bytes: int, itemsize: int
) -> Iterator[Sequence[tuple[Piece, Item]]]:
    """Cut pieces of one domain, in their order, into shards of about `shard_bytes` of ids.

    What comes with a piece stays with it.
    """
    shard: list[tuple[Piece, Item]] = []
    size = 0
    for piece, item in items:
        shard.append((piece, item))
        num_bytes = piece.tokens * itemsize
        size += num_bytes
        may_end = 2 * size >= shard_bytes and _may_end(piece, 2 * num_bytes, shard_bytes)
        if size >= shard_bytes or may_end:
            yield shard
            shard, size = [], 0
    if shard:
        yield shard


def _may_end(piece: Piece, times: int, of: int) -> bool:
    """True for `times` in `of` pieces."""
    drawn = int.from_bytes(hashlib.sha256(piece.key.encode()).digest()[:8], "little")
    return drawn * of < times << 64
