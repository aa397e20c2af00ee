"""Several texts in a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.models.row_packing import packing


@given(st.lists(st.integers(1, 20), max_size=80), st.integers(1, 6))
def test_texts_lie_beside_each_other_and_are_numbered(lengths: list[int], most: int) -> None:
    found = packing(lengths, 20, most)
    taken = np.zeros((found.num_rows, 20), np.int64)
    for row, start, length in zip(found.row, found.start, lengths, strict=True):
        taken[row, start : start + length] += 1
    assert taken.max(initial=0) <= 1
    assert taken.sum() == sum(lengths)
    for row in range(found.num_rows):
        here = found.row == row
        slots = found.slot[here][np.argsort(found.start[here])]
        assert slots.tolist() == list(range(len(slots)))
        assert 1 <= len(slots) <= most


def test_little_is_left_empty() -> None:
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3.4, 0.8, 3000), 4, 128).astype(int)
    assert packing(lengths, 128, 32).num_rows * 128 < 1.01 * lengths.sum()
    assert packing([10] * 7, 32, 8).num_rows == 3
    assert packing([], 32, 8).num_rows == 0


def test_lengths_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="lengths must be from 1 to 8, got 3 to 9"):
        packing([3, 9], 8, 4)
    with pytest.raises(ValueError, match="got 0 to 3"):
        packing([3, 0], 8, 4)
