"""NumPy's view of a stream: batches as they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Protocol, TypeVar

Made = TypeVar("Made", covariant=True)


class Batched(Protocol[Made]):
    """What the view needs of a stream."""

    def batch(self, step: int, *, rank: int | None, of: int | None) -> Made:
        """The batch of a step, or a rank's part of it."""
        ...


def numpy_view(
    stream: Batched[Made],
    start: int,
    stop: int | None,
    *,
    rank: int | None = None,
    of: int | None = None,
) -> Iterator[tuple[int, Made]]:
    """(step, batch) from `start` to `stop`, or without end."""
    for step in itertools.count(start) if stop is None else range(start, stop):
        yield step, stream.batch(step, rank=rank, of=of)
