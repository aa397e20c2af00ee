"""Rows of query and key projections, in the order that a rotary embedding expects.

A rotary embedding rotates the features of a head in pairs. Files of llama.cpp and llama2.c pair
neighbours, (0, 1), (2, 3), …; Hugging Face pairs the halves, (0, d/2), (1, d/2 + 1), …. The same
model therefore has its rows in another order; queries and keys are permuted alike, so their
products do not change.
"""

from __future__ import annotations

import numpy as np

from barrow.weights.tensors import Array


def halves_from_pairs(rows: Array, *, num_heads: int) -> Array:
    """Rows [heads · d, …] for paired neighbours, reordered for paired halves."""
    split = rows.reshape(num_heads, -1, 2, *rows.shape[1:])
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(rows.shape)


def pairs_from_halves(rows: Array, *, num_heads: int) -> Array:
    """The inverse of `halves_from_pairs`."""
    split = rows.reshape(num_heads, 2, -1, *rows.shape[1:])
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(rows.shape)
