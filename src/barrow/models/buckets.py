"""Padded sizes of arrays, so that few programs are compiled."""

from __future__ import annotations

from collections.abc import Iterator


def bucket(num: int, most: int) -> int:
    """The least of 16, 24, 32, 48, 64, 96… that is not below `num`, and at most `most`.

    The length that rows of `num` tokens are padded to: few lengths need few programs.
    """
    size = 16
    while size < num:
        is_power = size & (size - 1) == 0
        size = size * 3 // 2 if is_power else 1 << size.bit_length()
    return min(size, most)


def row_bucket(num: int, most: int | None = None) -> int:
    """The number of rows that a batch of `num` is padded to: a power of two, or `most`."""
    if num < 1 or (most is not None and most < 1):
        raise ValueError(f"a batch must have 1 to {most} rows, got {num}")
    size = 1 << (num - 1).bit_length()
    return size if most is None else min(size, most)


def parts(num: int, *, most: int) -> Iterator[tuple[int, int, int]]:
    """Start, stop and bucket of each batch of at most `most` of `num` rows."""
    for start in range(0, num, most):
        stop = min(start + most, num)
        yield start, stop, row_bucket(stop - start, most)
