"""Interleaving: exact counts, a proven bound, and the way back, all by arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.stream.order.mixture import MOST, TOTAL, Interleaving, quantised

# Weights of all sizes, some 0, at least one above.
WEIGHTS = st.lists(st.integers(0, 50) | st.integers(1, 1 << 36), min_size=1, max_size=24).filter(
    any
)


def shares(weights: tuple[int, ...]) -> np.ndarray:
    return np.array([weight / sum(weights) for weight in weights])


@settings(max_examples=60, deadline=None)
@given(weights=WEIGHTS, key=st.integers(0, 99))
def test_samples_counts_and_numbers_are_one_sequence(weights: list[int], key: int) -> None:
    mixture = Interleaving(tuple(weights), key)
    domain, before = mixture.samples(0, 300)
    counted = [0] * len(weights)
    for number, (d, j) in enumerate(zip(domain.tolist(), before.tolist(), strict=True)):
        assert mixture.counts(number) == counted
        assert j == counted[d]
        assert weights[d]
        assert mixture.number(d, j) == number
        counted[d] += 1


@settings(max_examples=60, deadline=None)
@given(weights=WEIGHTS, first=st.integers(0, 10**12), length=st.integers(0, 200))
def test_any_part_can_be_asked_for(weights: list[int], first: int, length: int) -> None:
    mixture = Interleaving(tuple(weights), 5)
    domain, before = mixture.samples(first, first + length)
    counts = mixture.counts(first)
    for d, j in zip(domain.tolist(), before.tolist(), strict=True):
        assert j == counts[d]
        counts[d] += 1
    assert counts == mixture.counts(first + length)
    assert all(
        mixture.number(d, j) == first + i
        for i, (d, j) in enumerate(zip(domain.tolist(), before.tolist(), strict=True))
    )


@settings(max_examples=100, deadline=None)
@given(
    weights=WEIGHTS,
    key=st.integers(0, 99),
    first=st.integers(0, 10**12),
    length=st.integers(0, 10**12) | st.just(1000),
)
def test_any_run_has_the_shares_within_the_bound(
    weights: list[int], key: int, first: int, length: int
) -> None:
    """The bound holds in exact arithmetic, and is below 4 for any number of domains."""
    mixture = Interleaving(tuple(weights), key)
    begin, end = mixture.counts(first), mixture.counts(first + length)
    for domain, weight in enumerate(weights):
        off = end[domain] - begin[domain] - Fraction(length * weight, sum(weights))
        assert abs(off) <= Fraction(mixture.deviation(domain)) < 4


def test_every_run_of_1000_of_22_domains() -> None:
    """All runs of 1,000 among 20,000 samples, not only some."""
    weights = quantised(np.random.default_rng(3).dirichlet(np.full(22, 0.6)).tolist())
    mixture = Interleaving(weights, 1)
    domain, _ = mixture.samples(0, 20_000)
    counts = np.cumsum(domain[:, None] == np.arange(22), axis=0)
    off = counts[1000:] - counts[:-1000] - 1000 * shares(weights)
    bound = np.array([mixture.deviation(d) for d in range(22)])
    assert (np.abs(off).max(0) < bound).all()
    assert bound.max() < 3


def test_the_expected_number_is_the_share_in_a_run_too_short_for_a_turn() -> None:
    weights = quantised([0.5, 0.499, 0.001])
    counts = [Interleaving(weights, key).counts(100)[2] for key in range(4000)]
    assert abs(np.mean(counts) - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 4000)


def test_two_equal_domains_take_turns() -> None:
    domain, before = Interleaving((1, 1), 0).samples(0, 10)
    assert domain.tolist() in ([0, 1] * 5, [1, 0] * 5)
    assert before.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_one_domain_has_all_samples() -> None:
    domain, before = Interleaving((0, 7, 0), 0).samples(10**12, 10**12 + 3)
    assert domain.tolist() == [1, 1, 1]
    assert before.tolist() == [10**12, 10**12 + 1, 10**12 + 2]


def test_keys_change_the_phases() -> None:
    first, _ = Interleaving((5, 3, 1), 0).samples(0, 50)
    second, _ = Interleaving((5, 3, 1), 1).samples(0, 50)
    assert not np.array_equal(first, second)


def test_the_interleaving_is_the_same_in_every_release() -> None:
    """Golden values: a release that changes one changes what everybody's run sees."""
    domain, _ = Interleaving(quantised([0.5, 0.3, 0.2]), 42).samples(0, 20)
    assert domain.tolist() == [1, 0, 2, 0, 1, 0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 1, 0, 2, 0]
    domain, before = Interleaving((7, 1, 3, 3), 1).samples(10**12, 10**12 + 6)
    assert domain.tolist() == [0, 3, 0, 2, 0, 3]
    assert before.tolist() == [
        500000000000,
        214285714285,
        500000000001,
        214285714286,
        500000000002,
        214285714286,
    ]


@settings(max_examples=100, deadline=None)
@given(
    weights=st.lists(
        st.floats(0, 1e300, allow_nan=False) | st.integers(0, 10**15), min_size=1, max_size=30
    ).filter(any)
)
def test_whole_weights_keep_the_proportions(weights: list[float]) -> None:
    whole = quantised(weights)
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    raised = sum(0 < weight / total * TOTAL < 1 for weight in exact)
    for weight, number in zip(exact, whole, strict=True):
        assert bool(weight) == bool(number)
        assert abs(number - weight / total * TOTAL) < 1 + raised
    assert sum(whole) == TOTAL
    Interleaving(whole, 0)


def test_what_is_missing_goes_to_the_largest_remainders() -> None:
    third = TOTAL // 3
    assert quantised([1, 1, 1]) == (third + 1, third, third)
    sixth = TOTAL // 6  # remainders of 4, 2 and 0 sixths
    assert quantised([1, 2, 3]) == (sixth + 1, 2 * TOTAL // 6, TOTAL // 2)
    assert quantised([2, 1, 3]) == (2 * TOTAL // 6, sixth + 1, TOTAL // 2)
    assert quantised([1e-300, 1.0, 0.0]) == (1, TOTAL - 1, 0)


@pytest.mark.parametrize("weights", [(), (0, 0), (1, -1), (-1,)])
def test_weights_that_are_none(weights: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="weights of 0 or more, some above 0"):
        Interleaving(weights, 0)


def test_weights_too_large_to_be_exact() -> None:
    with pytest.raises(ValueError, match="sum to at most 2\\^40"):
        Interleaving((TOTAL, 1), 0)


@pytest.mark.parametrize("part", [(-1, 5), (5, 4), (0, MOST + 1)])
def test_parts_that_cannot_be(part: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected up to 4,194,304 samples from 0 on"):
        Interleaving((1, 1), 0).samples(*part)


def test_no_samples_of_a_domain_without_weight() -> None:
    mixture = Interleaving((1, 0), 0)
    assert mixture.deviation(1) == 0
    with pytest.raises(ValueError, match="domain 1 has weight 0"):
        mixture.number(1, 0)


def test_the_largest_part_is_exact() -> None:
    """2^22 samples times 2^40 still fit 64 bits."""
    weights = quantised([0.7, 0.3])
    mixture = Interleaving(weights, 3)
    first = 10**12 + 1
    domain, _ = mixture.samples(first, first + MOST)
    counts = np.array(mixture.counts(first + MOST)) - np.array(mixture.counts(first))
    assert np.bincount(domain).tolist() == counts.tolist()


def test_only_domains_with_samples_are_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many domains, a batch costs what its rows do."""
    interleaving = Interleaving(quantised([1.0] * 5000), 7)
    visited = []
    numbers = np.arange

    def counting(*arguments: Any, **options: Any) -> Any:
        visited.append(arguments)
        return numbers(*arguments, **options)

    monkeypatch.setattr("barrow.stream.order.mixture.np.arange", counting)
    domain, before = interleaving.samples(10**9, 10**9 + 4)
    assert len(visited) < 4 * 20
    for row in range(4):
        number = interleaving.number(int(domain[row]), int(before[row]))
        assert number == 10**9 + row
