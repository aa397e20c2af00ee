"""Rows and samples of several steps, computed at once because most of the cost is fixed.

This is a cache, not state: what it holds would be computed again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Generic, TypeVar

from barrow.stream.order.order import Order, Rows
from barrow.stream.source import Sliceable, Source

Samples = TypeVar("Samples", bound=Sliceable)


class Blocks(Generic[Samples]):
    """The rows of an order and their samples, made for up to `at_once` rows at a time.

    A block is some steps of one phase. If a batch is half of `at_once` or more, there are no
    blocks, and only the requested rows are made.
    """

    def __init__(self, order: Order, source: Source[Samples], *, at_once: int) -> None:
        self._order = order
        self._source = source
        self._at_once = at_once
        self._rows = lru_cache(maxsize=4)(order.rows_of_steps)
        self._samples = lru_cache(maxsize=4)(
            lambda first, last: source.samples(self._rows(first, last))
        )

    def rows(self, step: int) -> Rows:
        """All rows of a step."""
        batch = self._order.batch(step)
        if (block := self._block(step, batch)) is None:
            return self._order.rows(step)
        at = (step - block[0]) * batch
        return self._rows(*block)[at : at + batch]

    def samples(self, step: int, wanted: range) -> Samples:
        """The samples of some rows of a step."""
        batch = self._order.batch(step)
        if (block := self._block(step, batch)) is None:
            return self._source.samples(self._order.rows(step, wanted.start, wanted.stop))
        at = (step - block[0]) * batch
        part: Samples = self._samples(*block)[at + wanted.start : at + wanted.stop]
        return part

    def _block(self, step: int, batch: int) -> tuple[int, int] | None:
        """The steps that are made together with a step, from one up to another."""
        many = self._at_once // batch
        if many < 2:
            return None
        start, stop = self._order.phase_steps(step)
        first = start + (step - start) // many * many
        return first, first + many if stop is None else min(first + many, stop)
