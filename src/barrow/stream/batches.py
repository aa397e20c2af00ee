"""Order, source and collate, put together: a batch as a function of its step."""

from __future__ import annotations

from typing import Generic, TypeVar

from barrow.stream.blocks import Blocks
from barrow.stream.order import Order
from barrow.stream.part import Part, part_of
from barrow.stream.source import Collate, Sliceable, Source

Samples = TypeVar("Samples", bound=Sliceable)
Made = TypeVar("Made")


class Batches(Generic[Samples, Made]):
    """The batches of a run. There is no state: any step can be asked for, in any order.

    `at_once` is the number of rows whose samples may be made, and remembered, together: 1 where a
    sample is costly, many where it is only a description of what is to be read.
    """

    def __init__(
        self,
        order: Order,
        source: Source[Samples],
        collate: Collate[Samples, Made],
        *,
        at_once: int = 1,
    ) -> None:
        self.order = order
        self.source = source
        self.collate = collate
        self._blocks = Blocks(order, source, at_once=at_once)

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read; None if that never happens."""
        return self.order.num_steps

    def stop(self, start: int, stop: int | None = None) -> int | None:
        """The step to end before, from `start` on: the one given, but never after the last."""
        if start < 0:
            raise ValueError(f"steps count from 0, got start={start}")
        ends = [end for end in (stop, self.num_steps) if end is not None]
        return min(ends, default=None)

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of the global batch of a step."""
        seq_len = self.order.seq_len(step)
        width = self.source.width(seq_len, lambda: self._blocks.rows(step))
        return self.order.batch(step), width

    def samples(self, step: int) -> Samples:
        """All samples of a step."""
        return self._blocks.samples(step, range(self.order.batch(step)))

    def batch(
        self,
        step: int,
        *,
        rank: int | None = None,
        of: int | None = None,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> Made:
        """The batch of a step, or the part of it that rank `rank` of `of`, or slices, ask for.

        Only what is asked for is read.
        """
        num_rows, width = self.shape(step)
        wanted = part_of(num_rows, rows, what="rows", rank=rank, of=of)
        part = Part(step, wanted, part_of(width, columns, what="columns"), width)
        return self.collate(self._blocks.samples(step, wanted), part)
