"""Rows of many lengths as batches of few shapes: each shape is a program to compile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Batch:
    """Numbers of the rows in it, the rows that its array has, and the length of each."""

    rows: tuple[int, ...]
    num_rows: int
    length: int


def batches(
    lengths: Sequence[int], *, max_length: int, batch_tokens: int, multiple: int = 1
) -> list[Batch]:
    """Rows of these lengths, longest first, about `batch_tokens` to a batch, padding included.

    A batch's length is `padded_length` of its longest row. Only the last batch may lack rows; it
    has as many as the next power of two, so that the shapes stay few. Rows are a `multiple`, for
    that many devices.
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable").tolist()
    made = []
    at = 0
    while at < len(order):
        longest = lengths[order[at]]
        if longest == 0:
            break  # and so are the others: a row of one id has nothing to guess
        length = padded_length(longest, max_length)
        full = max(1, batch_tokens // length // multiple) * multiple
        rows = tuple(order[at : at + full])
        num_rows = full
        if len(rows) < full:
            needed = -(-len(rows) // multiple)
            num_rows = min(full, (1 << (needed - 1).bit_length()) * multiple)
        made.append(Batch(rows, num_rows, length))
        at += full
    return made


def padded_length(length: int, max_length: int) -> int:
    """The next power of two up to 128, then the next multiple of 128; `max_length` at most."""
    padded = max(16, 1 << (length - 1).bit_length()) if length <= 128 else -(-length // 128) * 128
    return min(padded, max_length)
