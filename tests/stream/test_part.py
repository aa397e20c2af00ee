from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.part import Part, part_of


@given(st.integers(1, 12), st.integers(1, 12))
def test_ranks_share_evenly(each: int, of: int) -> None:
    parts = [part_of(each * of, None, what="rows", rank=r, of=of) for r in range(of)]
    assert [n for part in parts for n in part] == list(range(each * of))
    assert {len(part) for part in parts} == {each}


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_slices(a: int, b: int, whole: int) -> None:
    if a <= b <= whole:
        assert part_of(whole, slice(a, b), what="rows") == range(a, b)
    else:
        with pytest.raises(ValueError, match="is not a part of"):
            part_of(whole, slice(a, b), what="rows")


def test_open_slices() -> None:
    assert part_of(5, None, what="rows") == range(5)
    assert part_of(5, slice(None), what="rows") == range(5)
    assert part_of(5, slice(2, None), what="rows") == range(2, 5)


def test_bad_input() -> None:
    """Batch not divisible by ranks, rank and slice out of range."""
    with pytest.raises(ValueError, match="3 ranks cannot share a batch of 8 rows evenly"):
        part_of(8, None, what="rows", rank=0, of=3)
    for rank, of in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match=f"rank must be from 0 to {of - 1}, got {rank}"):
            part_of(8, None, what="rows", rank=rank, of=of)
    with pytest.raises(ValueError, match="pass both rank and of"):
        part_of(8, None, what="rows", rank=1)
    with pytest.raises(ValueError, match="rank and of, or rows, not both"):
        part_of(8, slice(1), what="rows", rank=1, of=2)
    for wrong in (slice(-1, 2), slice(0, 9), slice(0, 8, 2), slice(5, 4)):
        with pytest.raises(ValueError, match="columns .* is not a part of 8"):
            part_of(8, wrong, what="columns")


def test_num_columns() -> None:
    assert Part(0, range(4), range(2, 7), 9).num_columns == 5
