"""Collate for masked language modelling: a collate, and masking after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from barrow.stream.batch import PLACED, Batch
from barrow.stream.part import Part
from barrow.stream.rows.masking import MaskIds, Mlm, mask_batch
from barrow.stream.rows.spans import Spans
from barrow.stream.source import Collate


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
