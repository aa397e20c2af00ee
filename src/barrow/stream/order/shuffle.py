"""The order of chunks in an epoch: a permutation for each (seed, domain's name, epoch).

Domains are identified by name, so adding or removing one does not change the others' order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from barrow.stream.order.permutation import (
    Digits,
    Ids,
    derive,
    digits_of,
    keys_of,
    permute,
    unpermute,
)

Numbers = npt.NDArray[np.int64]


class Shuffle:
    """Places of each domain's full chunks; a short chunk has the number after them and stays."""

    def __init__(self, seed: int, names: Sequence[str], full: Sequence[int]) -> None:
        self._keys = np.array([derive("chunks", seed, name) for name in names], np.uint64)
        self._full = np.array(full, np.int64)
        self._digits = digits_of(list(full))

    def chunks(self, domain: Numbers, epoch: Numbers, place: Numbers) -> Numbers:
        """Chunks at places of their domain's order in an epoch."""
        return self._apply(permute, domain, epoch, place)

    def places(self, domain: Numbers, epoch: Numbers, chunk: Numbers) -> Numbers:
        """Places of chunks in their domain's order in an epoch."""
        return self._apply(unpermute, domain, epoch, chunk)

    def _apply(
        self,
        function: Callable[[Ids, Digits, Ids], Ids],
        domain: Numbers,
        epoch: Numbers,
        number: Numbers,
    ) -> Numbers:
        out = number.copy()
        which = np.flatnonzero(number < self._full[domain])
        domain, epoch = domain[which], epoch[which]
        values = number[which].astype(np.uint64)
        key = keys_of(self._keys[domain], epoch)
        out[which] = function(values, self._digits[domain], key).astype(np.int64)
        return out
