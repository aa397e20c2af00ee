"""Rows of many lengths as batches of few shapes: each shape is a program to compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# A batch takes about as long as 1/32 of a full one, whatever is in it.
_BATCH_COST = 32
# With more rows left, a full batch is used; the best cut is searched only for the last ones.
_LAST = 512


@dataclass(frozen=True)
class Batch:
    """Numbers of the rows in it, the rows that its array has, and the length of each."""

    rows: tuple[int, ...]
    num_rows: int
    length: int


def padded_length(length: int, max_length: int) -> int:
    """The next power of two up to 64, multiple of 64 up to 512, then of 128; `max_length` at most.

    Each is a program to compile, so there are few.
    """
    if length <= 64:
        padded = max(16, 1 << (length - 1).bit_length())
    else:
        step = 64 if length <= 512 else 128
        padded = -(-length // step) * step
    return min(padded, max_length)


def batches(
    lengths: Sequence[int],
    *,
    max_length: int,
    batch_tokens: int,
    multiple: int = 1,
    length_of: Callable[[int, int], int] = padded_length,
) -> list[Batch]:
    """Rows of these lengths, longest first, at most `batch_tokens` to a batch, padding included.

    A batch's length is `length_of` its longest row and `max_length`; its rows are a power of two or
    as many as fit, so that there are few shapes, times `multiple`, for that many devices. Batches
    are cut for the least padding, plus a fixed cost per batch; of very many rows all but the
    shortest are in full batches.
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable").tolist()
    # An empty row has nothing to compute.
    padded = [length_of(lengths[i], max_length) for i in order if lengths[i]]
    made = []
    at = 0
    for num_rows in _cut(padded, batch_tokens, multiple):
        made.append(Batch(tuple(order[at : min(at + num_rows, len(padded))]), num_rows, padded[at]))
        at += num_rows
    return made


def _cut(padded: Sequence[int], batch_tokens: int, multiple: int) -> list[int]:
    """Rows of each batch."""
    rows: list[int] = []
    at = 0
    while (left := len(padded) - at) > _LAST:
        full = max(1, batch_tokens // padded[at] // multiple) * multiple
        if full > left:
            break
        rows.append(full)
        at += full
    return rows + _cheapest(padded[at:], batch_tokens, multiple)


def _cheapest(padded: Sequence[int], batch_tokens: int, multiple: int) -> list[int]:
    """Rows of each batch: the cheapest for all the rows from each row on, from the last one."""
    num = len(padded)
    costs, chosen = [0.0] * (num + 1), [0] * num
    for i in reversed(range(num)):
        full = max(1, batch_tokens // padded[i] // multiple)
        sizes = [*(1 << k for k in range(full.bit_length()) if 1 << k < full), full]
        # Of two that cost the same, the one that ends later: partial batches come last.
        costs[i], least = min(
            (
                size * multiple * padded[i]
                + batch_tokens / _BATCH_COST
                + costs[min(num, i + size * multiple)],
                -size,
            )
            for size in sizes
        )
        chosen[i] = -least * multiple
    rows = []
    at = 0
    while at < num:
        rows.append(chosen[at])
        at += chosen[at]
    return rows
