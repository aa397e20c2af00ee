from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from barrow.score.conformance.check import barrow_scorer, rows
from barrow.score.conformance.totals import entropy, markov, stationary, totals_checks
from barrow.score.result import Result
from barrow.score.summary import rows_of

CHECKS = {check.name: check for check in totals_checks()}


def after(change: Callable[[Result], Result]) -> Any:
    """A scorer whose results are changed."""
    return lambda *given, **how: change(barrow_scorer(*given, **how))


def more_nats(result: Result) -> Result:
    held = replace(rows(result), nats=rows(result).nats * 1.000001)
    domains, overall = rows_of(held, np.zeros(len(held)))
    return replace(result, domains=domains, overall=overall, documents=held)


def one_domain_wrong(result: Result) -> Result:
    first, *others = result.domains
    return replace(result, domains=(replace(first, bpb=(first.bpb or 0) + 1e-6), *others))


def without_interval(result: Result) -> Result:
    return replace(result, overall=replace(result.overall, low=None))


def with_everything_inside(result: Result) -> Result:
    return replace(result, overall=replace(result.overall, low=0.0, high=8.0))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("uniform bytes", more_nats),
        ("uniform bytes", one_domain_wrong),
        ("plain sums", more_nats),
        ("plain sums", one_domain_wrong),
        ("Markov source", without_interval),
        ("Markov source", with_everything_inside),
    ],
)
def test_a_scorer_that_is_wrong_fails(name: str, change: Callable[[Result], Result]) -> None:
    assert CHECKS[name].run(barrow_scorer).passed
    assert not CHECKS[name].run(after(change)).passed


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """95 % of 40 texts are 38; 34 or more are found in all but 1 of 300 tries."""
    held = [markov(barrow_scorer, seed=seed).passed for seed in range(40)]
    assert sum(held) >= 34


def test_entropies() -> None:
    chain = np.array([[0.1, 0.9], [0.5, 0.5]])
    values, vectors = np.linalg.eig(chain.T)
    vector = vectors[:, np.argmax(values)]
    assert stationary(chain.tolist()) == pytest.approx(vector / vector.sum())
    assert entropy([0.2, 0.3, 0.5]) == pytest.approx(stats.entropy([0.2, 0.3, 0.5], base=2))
