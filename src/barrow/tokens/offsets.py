"""Lengths to offsets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def offsets_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each of some things that lie one after another begins, and the last ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
