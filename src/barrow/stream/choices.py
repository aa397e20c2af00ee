"""What may be said about a stream in one line of `key=value`, and the stream that it means."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from barrow.stream.masking import Mlm
from barrow.stream.schedule import Mixture, Schedule
from barrow.stream.settings import Packing
from barrow.stream.stream import Stream, natural_mixture


@dataclass(frozen=True)
class Choices:
    """Flat settings: one phase, whose mixture is by `weights`, `epochs` or `tokens`, or a
    `schedule`. Without a mixture, all domains are read in proportion to their tokens.
    """

    seq_len: int | None = None
    batch: int | None = None
    seed: int = 0
    weights: dict[str, float] | None = None
    epochs: dict[str, float] | None = None
    tokens: dict[str, int] | None = None
    max_epochs: dict[str, float] | float | None = None
    schedule: Schedule | None = None
    packing: Packing = "cut"
    buckets: tuple[int, ...] | None = None
    mlm: Mlm | None = None
    pad: int = 0

    @property
    def has_mixture(self) -> bool:
        """Whether one is given."""
        return not (self.weights is None and self.epochs is None and self.tokens is None)


def make_stream(store: str | os.PathLike[str], choices: Choices) -> Stream:
    """The stream of a store that choices mean."""
    from barrow.tokens import open_store  # which needs more than NumPy

    opened = open_store(store)
    mixture = None
    if choices.has_mixture:
        mixture = Mixture(choices.weights, choices.epochs, choices.tokens, choices.max_epochs)
    elif choices.max_epochs is not None:
        mixture = replace(natural_mixture(opened), max_epochs=choices.max_epochs)
    return Stream(
        opened,
        seed=choices.seed,
        seq_len=choices.seq_len,
        batch=choices.batch,
        mixture=mixture,
        schedule=choices.schedule,
        packing=choices.packing,
        buckets=choices.buckets,
        mlm=choices.mlm,
        pad=choices.pad,
    )
