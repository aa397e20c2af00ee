"""Batches on their way to the devices: looked through on the host, placed, prepared ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.stream import Batch, Prefetch, Stream
from barrow.stream.explain import seen_at
from barrow.stream.placing import place_batch

if TYPE_CHECKING:
    from jax.sharding import Sharding


@dataclass(frozen=True)
class CheckedStream:
    """A stream whose ids are all below a model's vocabulary; others raise before they are used.

    On a device an id over the vocabulary is no error: it would be taken for the last one.
    """

    stream: Stream
    vocab_size: int

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of a step."""
        return self.stream.shape(step)

    def batch(self, step: int, *, rows: slice | None = None, columns: slice | None = None) -> Batch:
        """A part of the batch of a step."""
        batch = self.stream.batch(step, rows=rows, columns=columns)
        targets = np.where(batch.mask, batch.targets, 0)
        for ids, what in ((batch.tokens, "has"), (targets, "is followed by")):
            if ids.size and not 0 <= ids.min() <= ids.max() < self.vocab_size:
                wrong = (ids < 0) | (ids >= self.vocab_size)
                row, column = (int(at[0]) for at in np.nonzero(wrong))
                places = _start(rows) + row, _start(columns) + column
                self._refuse(step, *places, int(ids[row, column]), what)
        return batch

    def _refuse(self, step: int, row: int, column: int, token: int, what: str) -> None:
        before = [s for s in seen_at(self.stream, step, row=row) if s.column <= column]
        where = describe(before[-1]) if before else "padding"
        raise ValueError(
            f"step {step}, row {row}, column {column} ({where}) {what} id {token}, and the model's "
            f"vocabulary has {self.vocab_size} ids: model.vocab_size="
            f"{self.stream.store.vocab_size} is the store's"
        )


def feed(
    stream: Stream, sharding: Sharding, *, vocab_size: int, start: int = 0, stop: int | None = None
) -> Prefetch[dict[str, Any]]:
    """(step, batch on the devices) from a step on, two ahead."""
    checked = CheckedStream(stream, vocab_size)
    ends = [end for end in (stop, stream.num_steps) if end is not None]
    return Prefetch(
        lambda step: place_batch(checked, step, sharding),
        start=start,
        stop=min(ends, default=None),
    )


def describe(seen: Any) -> str:
    """A part of a document, in words."""
    name = seen.identity or f"{seen.shard} {seen.archive_number}"
    return f"{seen.domain}, {name}, tokens {seen.first:,}–{seen.stop:,} of {seen.num_tokens:,}"


def _start(part: slice | None) -> int:
    return 0 if part is None else part.start or 0
