"""Batches of rows of about equal lengths, as a function of seed, epoch and step.

An epoch permutes all rows, sorts each window of some batches by length, cuts it, and permutes the
batches: little padding, every row once, and no state to save but the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from barrow.stream.order.permutation import Permutation, derive

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LengthBatches:
    """Which rows, of these lengths, are in the batch of a step; the last of an epoch may be short.

    `window` is how many batches are sorted together: more of them pad less and mix less.
    """

    lengths: tuple[int, ...]
    batch: int
    seed: int
    window: int = 32

    def __post_init__(self) -> None:
        if self.batch < 1 or self.window < 1 or not self.lengths:
            raise ValueError(
                f"rows, batch and window must be ≥ 1, got {len(self.lengths)}, "
                f"{self.batch} and {self.window}"
            )

    @cached_property
    def per_epoch(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.lengths) // self.batch)

    def __call__(self, step: int) -> Places:
        """The rows of a step."""
        epoch, at = divmod(step, self.per_epoch)
        return self._batches(epoch)[at]

    @cached_property
    def _batches(self) -> Callable[[int], tuple[Places, ...]]:
        """The batches of an epoch; those of the last two are kept."""
        return lru_cache(maxsize=2)(lambda epoch: epoch_batches(self, epoch))


def epoch_batches(batches: LengthBatches, epoch: int) -> tuple[Places, ...]:
    """All batches of an epoch, in their order."""
    sizes, batch, window = np.asarray(batches.lengths), batches.batch, batches.window
    num = len(sizes)
    order = Permutation(num, derive(batches.seed, "rows", epoch))(np.arange(num))
    found: list[Places] = []
    for start in range(0, num, batch * window):
        part = order[start : start + batch * window]
        part = part[np.argsort(sizes[part], kind="stable")]
        found += [part[at : at + batch] for at in range(0, len(part), batch)]
    places = Permutation(len(found), derive(batches.seed, "batches", epoch))(np.arange(len(found)))
    return tuple(found[place] for place in places)
