from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.models.buckets import bucket, parts, row_bucket


@given(st.integers(1, 3000), st.integers(1, 300))
def test_every_row_is_in_one_part_and_sizes_are_few(num: int, most: int) -> None:
    """CLIP-7: any number of rows is computed in at most log₂ sizes."""
    found = list(parts(num, most=most))
    assert [row for a, b, _ in found for row in range(a, b)] == list(range(num))
    for start, stop, size in found:
        assert stop - start <= size <= most
        assert size == most or size & (size - 1) == 0


def test_sizes() -> None:
    assert [row_bucket(n) for n in (1, 2, 3, 17)] == [1, 2, 4, 32]
    assert [row_bucket(n, 12) for n in (1, 2, 3, 5, 8, 9, 12)] == [1, 2, 4, 8, 8, 12, 12]
    assert list(parts(0, most=4)) == []
    with pytest.raises(ValueError, match="a batch must have"):
        row_bucket(0, 4)


@given(st.integers(1, 5000), st.integers(16, 5000))
def test_buckets(num: int, most: int) -> None:
    size = bucket(min(num, most), most)
    assert min(num, most) <= size <= most
    assert size <= max(16, 1.5 * num)
    assert bucket(size, most) == size


def test_few_buckets() -> None:
    assert sorted({bucket(n, 4096) for n in range(1, 100)}) == [16, 24, 32, 48, 64, 96, 128]
