"""The paired bootstrap, against a loop, scipy, and what is known of means (BEYOND-8)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from barrow.score.paired_bootstrap import Spread, holm, paired_bootstrap, student


def of_differences(differences: np.ndarray, sizes: np.ndarray, **options: int) -> Spread:
    """The spreads [columns] of a model that has so much more than one that has nothing."""
    nats = np.stack([differences, np.zeros_like(differences)], axis=1)
    return Spread(*(part[0, 1] for part in paired_bootstrap(nats, sizes, **options)))


def test_equals_a_loop() -> None:
    rng = np.random.default_rng(1)
    nats, sizes = rng.normal(0.2, 1, (7, 3, 2)), rng.integers(1, 9, (7, 2))
    found = paired_bootstrap(nats, sizes, resamples=200, seed=3)
    drawn = np.random.default_rng(3).integers(0, 7, (200, 7))
    for a, b, column in np.ndindex(3, 3, 2):
        if a == b:
            continue
        values = []
        for row in drawn:
            total = sum(nats[i, a, column] - nats[i, b, column] for i in row)
            values.append(total / sum(sizes[i, column] for i in row))
        assert found.low[a, b, column] == pytest.approx(np.quantile(values, 0.025))
        assert found.high[a, b, column] == pytest.approx(np.quantile(values, 0.975))
        # Of the jackknife: without each document in turn.
        d, s = nats[:, a, column] - nats[:, b, column], sizes[:, column]
        left_out = np.array([np.delete(d, i).sum() / np.delete(s, i).sum() for i in range(7)])
        mean = d.sum() / s.sum()
        error = np.sqrt(6 / 7 * ((left_out - mean) ** 2).sum())
        by_t = student(mean / error, s.sum() ** 2 / (s**2).sum() - 1)
        other = 2 * min(sum(v <= 0 for v in values), sum(v >= 0 for v in values)) / 200
        assert found.p[a, b, column] == pytest.approx(min(1, max(by_t, other)))


def test_the_interval_is_that_of_scipy() -> None:
    """Its percentile bootstrap of the same ratio, with other draws."""
    rng = np.random.default_rng(2)
    sizes = np.exp(rng.normal(7, 1, 80)).astype(np.int64)
    differences = rng.normal(0.02, 0.1, 80) * sizes
    found = of_differences(differences[:, None], sizes[:, None])
    theirs = stats.bootstrap(
        (differences, sizes.astype(np.float64)),
        lambda d, s, axis=-1: d.sum(axis=axis) / s.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        method="percentile",
        rng=np.random.default_rng(9),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert found.low[0] == pytest.approx(theirs.low, abs=0.05 * width)
    assert found.high[0] == pytest.approx(theirs.high, abs=0.05 * width)


def test_the_interval_is_that_of_a_mean() -> None:
    """Documents of one size: the spread of a mean of n normal numbers is 1.96 / √n."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 1))
    spread = of_differences(values, np.ones((400, 1), np.int64), resamples=2000)
    assert spread.high[0] - spread.low[0] == pytest.approx(2 * 1.96 / 20, rel=0.1)
    assert spread.low[0] < values.mean() < spread.high[0]


def test_the_same_draws_every_time_in_any_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from barrow.score import paired_bootstrap as module

    def ends(**options: int) -> list[list[float]]:
        return of_differences(values, sizes, resamples=50, **options).low.tolist()

    values, sizes = np.arange(30.0).reshape(10, 3) - 14, np.ones((10, 3), np.int64)
    first = ends()
    assert ends() == first
    assert ends(seed=1) != first
    monkeypatch.setattr(module, "_DRAWS", 30)
    assert ends() == first


def test_few_documents_cannot_be_sure() -> None:
    """Two that agree would also agree by chance one time in two."""
    for num in (2, 3, 8, 30):
        found = of_differences(np.ones((num, 1)), np.ones((num, 1), np.int64), resamples=99)
        assert (found.low[0], found.high[0], found.p[0]) == (1.0, 1.0, 2.0 ** (1 - num))
    equal = of_differences(np.zeros((9, 1)), np.ones((9, 1), np.int64), resamples=99)
    assert (equal.low[0], equal.high[0], equal.p[0]) == (0.0, 0.0, 1.0)


def test_models_that_are_equal_are_so_whatever_the_order_of_additions() -> None:
    rng = np.random.default_rng(0)
    same = np.repeat(rng.normal(5e3, 100, (37, 1)), 20, axis=1)
    found = paired_bootstrap(same[..., None], rng.integers(1, 9, (37, 1)), resamples=500)
    assert (found.p == 1).all()
    assert not found.low.any()


def test_one_document_with_most_of_the_bytes_decides_nothing() -> None:
    """The bootstrap draws it in 63 % of the cases, and so sees only one sign."""
    sizes = np.array([100_000, *[100] * 30])
    found = of_differences((0.1 * sizes + 1.0)[:, None], sizes[:, None])
    assert found.low[0] > 0
    noisy = 0.1 * sizes * np.where(np.arange(31) % 3, 1.0, -0.5)
    noisy[0] = 0.1 * sizes[0]
    found = of_differences(noisy[:, None], sizes[:, None])
    assert found.p[0] > 0.5


def test_too_few_documents() -> None:
    sizes = np.array([[1, 5], [0, 5], [0, 5]])
    found = of_differences(np.ones((3, 2)), sizes, resamples=9)
    assert np.isnan([found.low[0], found.high[0], found.p[0]]).all()
    assert found.low[1] == 0.2
    none = paired_bootstrap(np.empty((0, 2, 1)), np.empty((0, 1), np.int64))
    assert np.isnan(none.p).all()


def test_no_resamples() -> None:
    with pytest.raises(ValueError, match="resamples must be ≥ 1, got 0"):
        of_differences(np.ones((3, 1)), np.ones((3, 1), np.int64), resamples=0)


@pytest.mark.parametrize("freedom", [5, 10, 200])
@pytest.mark.parametrize("p", [0.2, 0.05, 0.001])
def test_student(freedom: float, p: float) -> None:
    t = stats.t.isf(p / 2, freedom)
    assert 0.999 * p <= student(t, freedom) <= 1.1 * p
    assert student(-t, freedom) == student(t, freedom)
    assert student(stats.t.isf(p / 2, 1.5), 1.5) >= p


def test_holm_by_hand() -> None:
    """0.01 · 4, then the largest so far of 0.02 · 3 and 0.03 · 2, then 0.04 · 1, never above 1."""
    p = np.array([0.03, np.nan, 0.01, 0.04, 0.02])
    np.testing.assert_allclose(holm(p), [0.06, np.nan, 0.04, 0.06, 0.06])
    np.testing.assert_allclose(holm(np.array([0.9, 0.6])), [1.0, 1.0])
    np.testing.assert_allclose(holm(np.array([0.04])), [0.04])
    assert holm(np.full(2, np.nan)).shape == (2,)
    assert np.isnan(holm(np.full(2, np.nan))).all()


def test_holm_step_by_step() -> None:
    """The procedure: p in order, each against α over the tests left, until one is larger."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random(8) ** 4
        for level in (0.05, 0.2):
            rejected, left = set(), 8
            for place in sorted(range(8), key=lambda k: p[k]):
                if p[place] > level / left:
                    break
                rejected.add(place)
                left -= 1
            assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected
