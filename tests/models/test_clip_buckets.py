from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.models.clip_buckets import bucket, parts


@given(st.integers(1, 3000), st.integers(1, 300))
def test_every_row_is_in_one_part_and_sizes_are_few(num: int, largest: int) -> None:
    """CLIP-7: any number of rows is computed in at most log₂ sizes."""
    found = list(parts(num, largest=largest))
    assert [row for a, b, _ in found for row in range(a, b)] == list(range(num))
    for start, stop, size in found:
        assert stop - start <= size <= largest
        assert size == largest or size & (size - 1) == 0


def test_sizes() -> None:
    assert [bucket(n, largest=12) for n in (1, 2, 3, 5, 8, 9, 12)] == [1, 2, 4, 8, 8, 12, 12]
    assert list(parts(0, largest=4)) == []
    with pytest.raises(ValueError, match="at least one row"):
        bucket(0, largest=4)
