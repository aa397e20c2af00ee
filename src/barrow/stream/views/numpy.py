"""NumPy's view of a stream: batches as they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barrow.stream.batch import Batch

if TYPE_CHECKING:
    from barrow.stream.stream import Stream


def numpy_view(
    stream: Stream, start: int, stop: int | None, *, rank: int | None, of: int | None
) -> Iterator[tuple[int, Batch]]:
    """(step, batch) from `start` to `stop`, or without end."""
    for step in itertools.count(start) if stop is None else range(start, stop):
        yield step, stream.batch(step, rank=rank, of=of)
