from __future__ import annotations

import numpy as np

from barrow.stream.pairs.draws import draws


def test_parts_of_a_batch_draw_as_the_whole() -> None:
    whole = draws("x", seed=1, step=2, rows=range(100))
    assert np.array_equal(draws("x", seed=1, step=2, rows=range(30, 50)), whole[30:50])


def test_draws_are_even_and_apart() -> None:
    whole = draws("x", seed=1, step=2, rows=range(20_000))
    assert 0 <= whole.min() < whole.max() < 1
    counts = np.histogram(whole, bins=20, range=(0, 1))[0]
    assert np.abs(counts - 1000).max() < 150  # five standard deviations
    for other in ({"step": 3}, {"seed": 2}, {"purpose": "y"}):
        told = {"purpose": "x", "seed": 1, "step": 2, **other}
        purpose = str(told.pop("purpose"))
        drawn = draws(purpose, rows=range(20_000), **told)  # type: ignore[arg-type]
        assert abs(float(np.corrcoef(whole, drawn)[0, 1])) < 0.04
    assert abs(float(np.corrcoef(whole[1:], whole[:-1])[0, 1])) < 0.04


def test_they_stay_what_they_are() -> None:
    """A saved run depends on them."""
    assert draws("pair caption", seed=0, step=0, rows=range(3)).tolist() == [
        0.663710373557615,
        0.6604149179700246,
        0.10532317191744345,
    ]
