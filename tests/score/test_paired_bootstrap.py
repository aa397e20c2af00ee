"""The paired bootstrap, against a loop and against what is known of means (BEYOND-8)."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.score.paired_bootstrap import paired_bootstrap


def test_equals_a_loop() -> None:
    rng = np.random.default_rng(1)
    differences, sizes = rng.normal(0.2, 1, (7, 2)), rng.integers(0, 9, (7, 2))
    found = paired_bootstrap(differences, sizes, resamples=200, seed=3)
    again = np.random.default_rng(3)
    drawn = again.integers(0, 7, (200, 7))
    for column, spread in enumerate(found):
        values = []
        for row in drawn:
            total = sum(differences[i, column] for i in row)
            values.append(total / sum(sizes[i, column] for i in row))
        assert spread is not None
        assert spread.low == pytest.approx(np.quantile(values, 0.025))
        assert spread.high == pytest.approx(np.quantile(values, 0.975))
        other = min(sum(v <= 0 for v in values), sum(v >= 0 for v in values))
        assert spread.p == pytest.approx(min(1, 2 * (other + 1) / 201))
        assert spread.p > 0.1


def test_the_interval_is_that_of_a_mean() -> None:
    """Documents of one size: the spread of a mean of n normal numbers is 1.96 / √n."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 1))
    spread = paired_bootstrap(values, np.ones((400, 1), np.int64), resamples=2000)[0]
    assert spread is not None
    assert spread.high - spread.low == pytest.approx(2 * 1.96 / 20, rel=0.1)
    assert spread.low < values.mean() < spread.high


def test_the_same_draws_every_time_in_any_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from barrow.score import paired_bootstrap as module

    values, sizes = np.arange(30.0).reshape(10, 3) - 14, np.ones((10, 3), np.int64)
    first = paired_bootstrap(values, sizes, resamples=50)
    assert paired_bootstrap(values, sizes, resamples=50) == first
    assert paired_bootstrap(values, sizes, resamples=50, seed=1) != first
    monkeypatch.setattr(module, "_DRAWS", 30)
    assert paired_bootstrap(values, sizes, resamples=50) == first


def test_certainty_has_bounds() -> None:
    sizes = np.ones((9, 1), np.int64)
    one_way = paired_bootstrap(np.ones((9, 1)), sizes, resamples=99)[0]
    assert one_way == (1.0, 1.0, pytest.approx(2 / 100))  # never 0
    equal = paired_bootstrap(np.zeros((9, 1)), sizes, resamples=99)[0]
    assert equal == (0.0, 0.0, 1.0)


def test_few_documents_cannot_be_sure() -> None:
    """Two that agree would also agree by chance one time in two."""
    for num, least in ((2, 1 / 2), (3, 1 / 4), (8, 1 / 128), (30, 2 / 1000)):
        found = paired_bootstrap(np.ones((num, 1)), np.ones((num, 1), np.int64), resamples=999)[0]
        assert found is not None
        assert found.p == least


def test_too_few_documents() -> None:
    differences = np.ones((3, 2))
    sizes = np.array([[1, 5], [0, 5], [0, 5]])
    found = paired_bootstrap(differences, sizes, resamples=9)
    assert found[0] is None
    assert found[1] is not None
    assert paired_bootstrap(np.empty((0, 2)), np.empty((0, 2), np.int64)) == [None, None]


def test_no_resamples() -> None:
    with pytest.raises(ValueError, match="resamples must be ≥ 1, got 0"):
        paired_bootstrap(np.ones((3, 1)), np.ones((3, 1), np.int64), resamples=0)
