"""Lineage: which pairs a step saw, and with which captions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.stream.pairs.stream import PairStream
from barrow.stream.part import Part


@dataclass(frozen=True, order=True)
class PairSeen:
    """A pair in a row of a step: its number in the index, its image's name, the text it had."""

    step: int
    row: int
    domain: str
    pair: int
    name: str
    text: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.domain}, {self.name}, {self.text!r}"


def pairs_at(stream: PairStream, step: int, *, row: int | None = None) -> list[PairSeen]:
    """What a step saw, by row; of one row only, if one is given. No image is read."""
    pairs = stream.pairs(step)
    if row is not None and not 0 <= row < len(pairs):
        raise ValueError(f"step {step} has rows 0 to {len(pairs) - 1}, not {row}")
    whole = range(len(pairs))
    _, texts = stream.collate.captions(pairs, Part(step, whole, range(0), 0))
    wanted = whole if row is None else (row,)
    return [
        PairSeen(
            step=step,
            row=at,
            domain=stream.index.domain_of(int(pairs[at])),
            pair=int(pairs[at]),
            name=stream.index.name(int(pairs[at])),
            text=texts[at],
        )
        for at in np.array(wanted, np.int64).tolist()
        if pairs[at] >= 0
    ]
