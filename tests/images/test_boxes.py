"""CLIP-9: which square is looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.images import centre_box, random_box

SIZES = st.integers(1, 3000)
DRAWS = st.floats(0, 1, exclude_max=True)


@given(SIZES, SIZES, st.integers(1, 400))
def test_the_middle_is_where_resize_and_crop_put_it(width: int, height: int, size: int) -> None:
    """Against the recipe's own arithmetic: resize the short side, cut at a whole pixel."""
    box = centre_box(width, height, size)
    short, long = sorted((width, height))
    new_long = int(size * long / short)
    cut = round((new_long - size) / 2.0)
    along = (box.left, box.right) if width > height else (box.top, box.bottom)
    across = (box.top, box.bottom) if width > height else (box.left, box.right)
    assert across == (0, short)
    assert along[0] == pytest.approx(cut * long / new_long, abs=1e-9)
    assert along[1] == pytest.approx((cut + size) * long / new_long, abs=1e-9)
    assert 0 <= box.left < box.right <= width
    assert 0 <= box.top < box.bottom <= height


@given(SIZES, SIZES, st.tuples(DRAWS, DRAWS, DRAWS), st.floats(0.01, 1))
def test_a_random_square_lies_within(
    width: int, height: int, draws: tuple[float, float, float], min_area: float
) -> None:
    box = random_box(width, height, draws=draws, min_area=min_area)
    assert 0 <= box.left < box.right <= width
    assert 0 <= box.top < box.bottom <= height
    side = box.right - box.left
    assert side == pytest.approx(box.bottom - box.top, rel=1e-9)
    assert min_area - 1e-9 <= (side / min(width, height)) ** 2 <= 1 + 1e-9


def test_draws_move_the_square_from_end_to_end() -> None:
    assert random_box(30, 10, draws=(0.9, 0.0, 0.0)) == (0, 0, 10, 10)
    assert random_box(30, 10, draws=(0.9, 0.5, 0.5)) == (10, 0, 20, 10)
    small = random_box(30, 10, draws=(0.0, 0.5, 0.5), min_area=0.25)
    assert small == (12.5, 2.5, 17.5, 7.5)


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(ValueError, match="min_area must be > 0 and ≤ 1"):
        random_box(3, 3, draws=(0, 0, 0), min_area=share)
