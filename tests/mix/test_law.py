"""The law of mixtures (BEYOND-6), against scipy's solver, a law written out by hand, and truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.mix.planted import planted_law, planted_runs

from barrow.errors import ConfigError
from barrow.mix import Runs, fit, interval, prediction
from barrow.mix.law import Law


def test_a_prediction_is_the_formula() -> None:
    """Written out for one domain with numbers that can be checked on paper."""
    theta = np.log([[[2.0, 3.0, 0.5, 1.0, 0.25]]])
    law = Law(("a", "b"), ("a",), 1e6, theta)
    (loss,) = law.predict(np.array([[0.2, 0.8]]))[0, :, 0]
    assert loss == pytest.approx(2 + 3 / math.sqrt(0.2 + 0.25 * 0.8 + 1e-4), rel=1e-12)


def test_slopes_are_those_of_finite_differences() -> None:
    law = planted_law(4, seed=1)
    weights, step = np.array([0.1, 0.2, 0.3, 0.4]), 1e-6
    losses, slopes = law.slopes(weights, slice(0, 1))
    np.testing.assert_allclose(losses, law.predict(weights[None])[0, 0], rtol=1e-12)
    for place in range(4):
        moved = weights.copy()
        moved[place] += step
        change = (law.predict(moved[None])[0, 0] - losses) / step
        np.testing.assert_allclose(slopes[:, place], change, rtol=1e-3)


def test_the_fit_is_what_scipy_finds() -> None:
    """One domain, no outliers: least squares with the same priors, by another solver."""
    law = planted_law(3, seed=2)
    runs = planted_runs(law, 24, noise=0.01, seed=2)
    one = Runs(runs.names, runs.params, runs.domains, runs.weights, ("a",), runs.losses[:, :1])
    found = fit(one, replicates=0)
    best = runs.losses[:, 0].min()
    centre = np.array([np.log(0.5 * best), np.log(0.4 * best), np.log(0.2), 0.0, -8.0, -8.0])
    deviation = np.array([1.0, 0.3, 1.0, 0.5, 3.0, 3.0])
    theta = found.theta[0, 0]

    def residuals(theta: np.ndarray, noise: float) -> np.ndarray:
        received = runs.weights @ np.exp(theta[3:]) + 1e-4
        predicted = np.exp(theta[0]) + np.exp(theta[1]) * received ** -np.exp(theta[2])
        error = (predicted - runs.losses[:, 0]) / noise
        return np.concatenate([error, (theta - centre) / deviation])

    # The noise is estimated; at the right one, scipy cannot improve on what was found.
    noise = np.sqrt(np.mean(residuals(theta, 1.0)[:24] ** 2) * 24 / 19)
    other = least_squares(residuals, centre, args=(noise,), max_nfev=2000).x
    mixtures = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    there = Law(one.domains, ("a",), 1e6, other[None, None])
    np.testing.assert_allclose(found.predict(mixtures), there.predict(mixtures), atol=2e-3)


def test_one_wrong_run_changes_little() -> None:
    law = planted_law(4, seed=3)
    runs = planted_runs(law, 24, noise=0.005, seed=3)
    wrong = runs.losses.copy()
    wrong[5] += 3.0
    spoiled = Runs(runs.names, runs.params, runs.domains, runs.weights, runs.scored, wrong)
    mixtures = np.random.default_rng(0).dirichlet(np.full(4, 2.0), 50)
    clean, robust = (fit(some, replicates=0).predict(mixtures)[0] for some in (runs, spoiled))
    assert np.abs(clean - robust).max() < 0.1


def test_intervals_cover_the_truth() -> None:
    """95 % intervals; few repetitions here, where chance is larger, and 200 in soak."""
    assert coverage(range(8)) >= 0.88


@pytest.mark.soak
def test_intervals_cover_the_truth_in_200_repetitions() -> None:
    assert 0.90 <= coverage(range(200)) <= 0.99


def coverage(seeds: range) -> float:
    covered = []
    for seed in seeds:
        law = planted_law(5, seed=seed)
        found = fit(planted_runs(law, 15, noise=0.01, seed=seed), replicates=64, seed=seed)
        mixtures = np.random.default_rng(seed).dirichlet(np.ones(5), 20)
        low, high = interval(found.predict(mixtures))
        true = law.predict(mixtures)[0]
        covered.append(np.mean((low <= true) & (true <= high)))
    return float(np.mean(covered))


def test_small_runs_are_the_prior_of_large_ones() -> None:
    """Four runs of a larger size cannot fix nine parameters; with twenty small ones they can."""
    law = planted_law(6, seed=4)
    small = planted_runs(law, 24, noise=0.005, seed=4)
    larger = Law(law.domains, law.scored, 1e7, law.theta - [0.2, 0.1, *[0.0] * 7])
    few = planted_runs(larger, 4, noise=0.005, seed=5)
    both = Runs(
        (*small.names, *(f"large {name}" for name in few.names)),
        np.concatenate([small.params, few.params]),
        law.domains,
        np.concatenate([small.weights, few.weights]),
        law.scored,
        np.concatenate([small.losses, few.losses]),
    )
    mixtures = np.random.default_rng(1).dirichlet(np.full(6, 2.0), 60)
    found = fit(both, replicates=0)
    assert found.params == 1e7
    assert np.abs(found.predict(mixtures)[0] - larger.predict(mixtures)[0]).mean() < 0.02
    at_small = fit(both, params=1e6, replicates=0)
    assert np.abs(at_small.predict(mixtures)[0] - law.predict(mixtures)[0]).mean() < 0.02
    beyond = fit(both, params=1e8, replicates=0).predict(mixtures)[0]
    assert np.all(beyond.mean(axis=0) < found.predict(mixtures)[0].mean(axis=0))


def test_a_prediction_is_a_table() -> None:
    law = fit(planted_runs(planted_law(3, seed=5), 12, noise=0.01, seed=5), replicates=20)
    table = prediction(law, np.eye(3))
    assert list(table) == [
        f"{kind}:{name}" for kind in ("loss", "low", "high") for name in "abc"
    ] + ["mean"]
    for name in "abc":
        low, loss, high = (np.array(table[f"{kind}:{name}"]) for kind in ("low", "loss", "high"))
        assert np.all(low < high)
        assert np.all((low - 0.2 < loss) & (loss < high + 0.2))


def test_intervals_need_replicates() -> None:
    law = fit(planted_runs(planted_law(3, seed=0), 12, noise=0.01, seed=0), replicates=0)
    with pytest.raises(ConfigError, match="pass replicates=200"):
        prediction(law, np.eye(3))


@pytest.mark.parametrize(
    ("number", "options", "message"),
    [
        (5, {}, "a law of 3 domains needs 6 runs, got 5"),
        (12, {"params": 5e6}, "params must be 1000000, the size of all runs, got 5000000"),
    ],
)
def test_bad_input(number: int, options: dict[str, float], message: str) -> None:
    runs = planted_runs(planted_law(3, seed=0), number, noise=0.01, seed=0)
    with pytest.raises(ConfigError, match=message):
        fit(runs, **options)
