"""Batches of any size in few sizes, so that few programs are compiled."""

from __future__ import annotations

from collections.abc import Iterator


def bucket(num: int, *, largest: int) -> int:
    """The size that a batch of `num` rows is filled up to: a power of two, or `largest`."""
    if num < 1 or largest < 1:
        raise ValueError(f"a batch has at least one row, not {num} of at most {largest}")
    return min(1 << (num - 1).bit_length(), largest)


def parts(num: int, *, largest: int) -> Iterator[tuple[int, int, int]]:
    """Start, stop and bucket of each batch of at most `largest` of `num` rows."""
    for start in range(0, num, largest):
        stop = min(start + largest, num)
        yield start, stop, bucket(stop - start, largest=largest)
