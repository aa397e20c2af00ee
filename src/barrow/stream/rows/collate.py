"""Spans to a batch: read tokens, number segments and positions, mask targets and words.

Nothing here loops over tokens. A row that is one stretch of its domain, as when documents are
concatenated and cut, is one slice of a mapped file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.stream.batch import PLACED, Batch
from barrow.stream.part import Part
from barrow.stream.rows.masking import MaskIds, Mlm, mask_batch
from barrow.stream.rows.spans import Spans
from barrow.stream.source import Collate
from barrow.stream.store import Store

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TokenCollate:
    """Spans of a store to a `Batch`; padding is the id `pad`."""

    store: Store
    pad: int = 0

    @cached_property
    def _totals(self) -> list[int]:
        return [self.store.domain_tokens(d) for d in range(len(self.store.domains))]

    def __call__(self, spans: Spans, part: Part) -> Batch:
        """The part of a batch that some rows, and some of their columns, make up."""
        documents, segment = spans.documents(), spans.segment
        spans, segment, skipped = _clip(spans, segment, part)
        shape = (spans.num_rows, part.num_columns)
        # One block of memory for all: it is freed and reused as a whole.
        block = np.empty((4, shape[0] * shape[1]), np.int32)
        tokens, targets, segments, positions = block
        flat = spans.row * shape[1] + spans.column
        self._read(spans, flat, tokens, targets)
        segments[:] = _spread(segment, flat, spans.length, tokens.size)
        positions[:] = np.arange(tokens.size, dtype=np.int32)
        positions -= _spread(flat - skipped, flat, spans.length, tokens.size)
        mask = segments > 0
        if int(spans.length.sum()) < tokens.size:
            block[:2, ~mask] = self.pad
            positions[~mask] = 0
        if self.store.end is not None or self.store.begin is None:
            # A document ends with its end id, or without one: there is nothing to predict.
            mask[(flat + spans.length - 1)[spans.last]] = False
        tokens, targets, segments, positions = block.reshape(4, *shape)
        return Batch(tokens, targets, segments, positions, mask.reshape(shape), documents)

    def _read(
        self,
        spans: Spans,
        flat: Integers,
        tokens: npt.NDArray[np.int32],
        targets: npt.NDArray[np.int32],
    ) -> None:
        """Fill in tokens and the ids that follow them; one read for what is contiguous."""
        stop = spans.start + spans.length
        fresh = np.ones(len(spans) + 1, np.bool_)
        np.not_equal(spans.start[1:], stop[:-1], out=fresh[1:-1])
        fresh[1:-1] |= spans.row[1:] != spans.row[:-1]
        edges = np.flatnonzero(fresh)
        first, last = edges[:-1], edges[1:] - 1
        where = (spans.domain[first].tolist(), spans.start[first].tolist(), stop[last].tolist())
        reads = [self._stretch(*stretch) for stretch in zip(*where, strict=True)]
        num = tokens.size // max(1, len(reads))
        if all(len(ids) == num + 1 for ids in reads) and num * len(reads) == tokens.size > 0:
            # Rows without padding: all at once is twice as fast.
            table = np.concatenate(reads).reshape(len(reads), num + 1)
            tokens.reshape(len(reads), num)[:] = table[:, :-1]
            targets.reshape(len(reads), num)[:] = table[:, 1:]
            return
        for place, ids in zip(flat[first].tolist(), reads, strict=True):
            tokens[place : place + len(ids) - 1] = ids[:-1]
            targets[place : place + len(ids) - 1] = ids[1:]

    def _stretch(self, domain: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Ids of a domain, and the one that follows them."""
        if stop < self._totals[domain]:
            # A copy, since a view would keep its file mapped until all of the batch is read.
            return np.array(self.store.read(domain, start, stop + 1))
        # After the last document, another would begin.
        ids = self.store.read(domain, start, stop)
        begin = self.pad if self.store.begin is None else self.store.begin
        return np.append(ids, ids.dtype.type(begin))


def _clip(spans: Spans, segment: Integers, part: Part) -> tuple[Spans, Integers, Integers]:
    """Spans clipped to the requested columns, and how much each lost at its left."""
    if part.num_columns == part.width:
        return spans, segment, np.zeros(len(spans), np.int64)
    left = np.maximum(spans.column, part.columns.start)
    right = np.minimum(spans.column + spans.length, part.columns.stop)
    seen = right > left
    skipped = left - spans.column
    clipped = replace(
        spans,
        column=left - part.columns.start,
        start=spans.start + skipped,
        length=right - left,
        last=spans.last & (right == spans.column + spans.length),
    )
    return clipped.take(seen), segment[seen], skipped[seen]


def _spread(values: Integers, flat: Integers, length: Integers, size: int) -> npt.NDArray[np.int32]:
    """`values[i]` at the `length[i]` places from `flat[i]` on, and 0 between."""
    runs = np.zeros(2 * len(values) + 1, np.int32)
    runs[1::2] = values
    counts = np.empty(len(runs), np.int64)
    counts[1::2] = length
    counts[0::2] = np.append(flat, size)
    counts[2::2] -= flat + length
    return np.repeat(runs, counts)


@dataclass(frozen=True)
class MaskedCollate:
    """The batch of another collate, with some tokens masked."""

    inner: Collate[Spans, Batch]
    mlm: Mlm
    ids: MaskIds
    seed: int

    def __call__(self, spans: Spans, part: Part) -> Batch:
        """The part of a batch, masked as the whole would be."""
        # A word is identified by its first token, which may be left of the requested columns.
        read = replace(part, columns=range(part.width)) if self.mlm.whole_word else part
        batch = mask_batch(
            self.inner(spans, read),
            self.mlm,
            self.ids,
            seed=self.seed,
            step=part.step,
            row=part.rows.start,
            column=read.columns.start,
        )
        if read is part:
            return batch
        columns = slice(part.columns.start, part.columns.stop)
        return replace(batch, **{name: getattr(batch, name)[:, columns] for name in PLACED})
