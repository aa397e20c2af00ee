"""Image–text pairs of an index as the data of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError
from barrow.images import LIMITS, Limits
from barrow.stream.order.order import Order, Rows
from barrow.stream.pairs.collate import PairCollate
from barrow.stream.pairs.index import PairIndex
from barrow.stream.pairs.settings import PairSettings
from barrow.stream.pairs.texts import TextEncoder
from barrow.stream.part import Part

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, order=True)
class PairSeen:
    """A pair in a row of a step: its number in the index, its image's name, the text it had."""

    step: int
    row: int
    domain: str
    pair: int
    name: str
    text: str

    @property
    def number(self) -> int:
        """Of the pair."""
        return self.pair

    def __str__(self) -> str:
        return f"row {self.row}: {self.domain}, {self.name}, {self.text!r}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of an index; a sample is the number of a pair, −1 for padding.

    Every source is read through before any of its pairs comes again.
    """

    index: PairIndex
    settings: PairSettings
    texts: TextEncoder
    limits: Limits = LIMITS
    threads: int | None = None
    at_once: ClassVar[int] = 1
    has_columns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.settings.resolution is None or not self.settings.batches:
            raise ConfigError("pass resolution, the pixels of a side, and batch, the pairs a step")
        if not self.index.num_pairs:
            raise ValueError(f"the index at {self.folder} has no pairs; there is nothing to read")

    @property
    def folder(self) -> Path:
        """Of the index."""
        return self.index.folder

    @property
    def identity(self) -> dict[str, str]:
        """Of the index, and of what ids of texts mean."""
        return {"index": self.index.identity, "tokenizer": self.texts.hash}

    @cached_property
    def order(self) -> Order:
        """Of pairs."""
        sizes = self.index.sizes
        return Order.of_items(self.settings.seed, self.settings.resolve(sizes), sizes)

    @property
    def source(self) -> Pairs:
        """Itself."""
        return self

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Ids of a text."""
        del seq_len, rows
        return self.texts.context

    def samples(self, rows: Rows) -> Numbers:
        """Numbers of pairs."""
        firsts = np.array([part.start for part in self.index.ranges], np.int64)
        return np.where(rows.domain < 0, -1, firsts[rows.domain] + rows.start)

    @cached_property
    def collate(self) -> PairCollate:
        """Reads and decodes images, and chooses and encodes texts."""
        return PairCollate(self.index, self.settings, self.texts, self.limits, self.threads)

    def explain(self, pairs: Numbers, part: Part) -> list[PairSeen]:
        """The pairs and the texts they have. No image is read."""
        _, texts = self.collate.captions(pairs, part)
        return [
            PairSeen(part.step, row, self.index.domain_of(pair), pair, self.index.name(pair), text)
            for row, pair, text in zip(part.rows, pairs.tolist(), texts, strict=True)
            if pair >= 0
        ]

    def places(self, pair: int) -> tuple[int, list[tuple[int, int]]]:
        """Where a pair is in its source."""
        domain = self.index.domains.index(self.index.domain_of(pair))
        within = pair - self.index.ranges[domain].start
        return domain, [(within, within + 1)]
