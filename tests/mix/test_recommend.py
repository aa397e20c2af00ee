"""The recommended mixture (BEYOND-6): the true optimum, bounds, and no change without reason."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mix.planted import planted_law, planted_runs

from barrow.errors import ConfigError
from barrow.mix import bounds, fit, recommend
from barrow.mix.law import Law

FREE = {"floors": np.zeros(4), "ceilings": np.ones(4)}
EVEN = np.full(4, 0.25)


def best_by_search(law: Law, counts: np.ndarray) -> np.ndarray:
    """The best of many mixtures, and of many around it: no gradient, no solver."""
    rng = np.random.default_rng(0)
    best = EVEN
    for spread in (1.0, 30.0, 300.0, 3000.0):
        tried = rng.dirichlet(np.maximum(spread * best, 0.3), 4000)
        tried = np.concatenate([tried, best[None]])
        best = tried[np.argmin(law.predict(tried)[0] @ counts)]
    return best


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_found_with_three_runs_for_each_domain(seed: int) -> None:
    law = planted_law(4, seed=seed)
    found = fit(planted_runs(law, 12, noise=0.003, seed=seed), replicates=64)
    given = recommend(found, np.array([0.7, 0.1, 0.1, 0.1]), **FREE)
    true = best_by_search(law, np.full(4, 0.25))
    assert 0.5 * np.abs(given.weights - true).sum() < 0.05
    assert given.is_supported
    assert given.objective[1] <= given.objective[0] <= given.objective[2] < 0


def test_a_target_moves_the_weights() -> None:
    law = planted_law(4, seed=1)
    found = fit(planted_runs(law, 16, noise=0.003, seed=1), replicates=64)
    given = recommend(found, EVEN, target={"b": 3.0}, **FREE)
    assert given.weights[1] > 0.9
    assert given.change[1] < 0 < given.change[0]


def test_no_domain_loses_more_than_asked() -> None:
    law = planted_law(4, seed=1)
    found = fit(planted_runs(law, 16, noise=0.003, seed=1), replicates=64)
    free = recommend(found, EVEN, target={"b": 1.0}, **FREE)
    held = recommend(found, EVEN, target={"b": 1.0}, max_loss=0.02, **FREE)
    assert free.change.max() > 0.1
    assert held.change.max() < 0.025
    assert held.change[1] < 0


def test_bounds_hold() -> None:
    law = planted_law(4, seed=2)
    found = fit(planted_runs(law, 16, noise=0.003, seed=2), replicates=64)
    low, high = bounds(
        law.domains,
        floors={"a": 0.3},
        ceilings={"b": 0.1},
        tokens=dict.fromkeys("abcd", 1000.0) | {"c": 50.0},
        budget=1000,
        max_epochs=2,
    )
    assert high[2] == pytest.approx(0.1)  # 50 tokens, twice, of 1,000
    given = recommend(found, EVEN, floors=low, ceilings=high)
    assert np.all(given.weights >= low - 1e-9)
    assert np.all(given.weights <= high + 1e-9)
    assert given.weights.sum() == pytest.approx(1)


def test_no_change_where_the_runs_support_none() -> None:
    """At its own optimum, and with much noise, the current mixture stays."""
    law = planted_law(4, seed=3)
    true = best_by_search(law, np.full(4, 0.25))
    found = fit(planted_runs(law, 12, noise=0.2, seed=3), replicates=64)
    given = recommend(found, true, **FREE)
    assert not given.is_supported
    np.testing.assert_allclose(given.weights, true, atol=1e-9)
    np.testing.assert_allclose(given.change, 0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floors": {"a": 0.7, "b": 0.6}}, r"floors must sum to ≤ 1, got 1.3 \(a=0.7, b=0.6\)"),
        ({"floors": {"a": 0.5}, "ceilings": {"a": 0.2}}, "a: the floor is 0.5, but at most 0.2"),
        ({"ceilings": dict.fromkeys("abcd", 0.2)}, "ceilings must sum to ≥ 1, got 0.8"),
        ({"floors": {"e": 0.1}}, "e: no such domain"),
        ({"floors": {"a": -0.1}}, "a: a bound must be between 0 and 1, got -0.1"),
        (
            {"tokens": dict.fromkeys("abcd", 10.0), "budget": 1000, "max_epochs": 4},
            "ceilings must sum to ≥ 1, got 0.16: raise them or max_epochs",
        ),
    ],
)
def test_infeasible_bounds(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"floors": {}, "ceilings": {}} | options
    with pytest.raises(ConfigError, match=message):
        bounds("abcd", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "message"),
    [({"e": 1.0}, "target 'e' is not scored"), ({"a": -1.0}, "must be ≥ 0"), ({"a": 0.0}, "> 0")],
)
def test_a_bad_target(target: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        recommend(planted_law(4, seed=0), EVEN, target=target, **FREE)
