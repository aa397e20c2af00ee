"""Draws for the rows of a batch: hashes of (seed, step, row), so any slice draws as the whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.stream.permutation import GOLDEN, derive, mixed


def draws(purpose: str, *, seed: int, step: int, rows: range) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each row."""
    key = np.uint64(derive(purpose, seed, step))
    places = np.arange(rows.start, rows.stop, dtype=np.uint64)
    words = mixed(mixed(places * np.uint64(GOLDEN)) ^ key)
    return (words >> np.uint64(11)).astype(np.float64) / 2.0**53
