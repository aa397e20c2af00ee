"""Computed permutations: bijective, even, and the same in every release (ACCELERATE-8)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.stream.order.permutation import (
    GOLDEN,
    Permutation,
    derive,
    digits_of,
    keys_of,
    mixed,
    permute,
    unpermute,
)


def positions(n: int, keys: range, name: str) -> np.ndarray:
    """How often index i went to place j, over many keys."""
    counts = np.zeros((n, n))
    for number in keys:
        counts[np.arange(n), Permutation(n, derive(name, number))(np.arange(n))] += 1
    return counts


@pytest.mark.parametrize("n", [*range(301), 1024, 65_536, 65_537])
def test_every_index_goes_to_a_place_of_its_own(n: int) -> None:
    permutation = Permutation(n, derive("bijection", n))
    places = permutation(np.arange(n))
    assert np.array_equal(np.sort(places), np.arange(n))
    assert np.array_equal(permutation.inverse(places), np.arange(n))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 1 << 40) | st.integers(1, 1 << 62),
    key=st.integers(0, (1 << 64) - 1),
    seed=st.integers(0, 1000),
)
def test_the_inverse_undoes_it(n: int, key: int, seed: int) -> None:
    permutation = Permutation(n, key)
    index = np.random.default_rng(seed).integers(0, n, 50)
    places = permutation(index)
    assert places.min() >= 0
    assert places.max() < n
    assert np.array_equal(permutation.inverse(places), index)
    assert np.array_equal(permutation(permutation.inverse(index)), index)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 37, 100])
def test_every_place_is_equally_likely(n: int) -> None:
    # The statistic has mean (n − 1)² and variance twice that; five deviations is one in millions.
    keys = 40 * n
    counts = positions(n, range(keys), "even")
    expected = keys / n
    statistic = ((counts - expected) ** 2 / expected).sum()
    freedom = (n - 1) ** 2
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom) + 1


def test_neighbours_do_not_stay_together() -> None:
    n, keys = 50, 2000
    gaps = np.zeros(n)
    for number in range(keys):
        a, b = Permutation(n, derive("gap", number))([20, 21])
        gaps[(b - a) % n] += 1
    assert gaps[0] == 0
    expected = keys / (n - 1)
    statistic = ((gaps[1:] - expected) ** 2 / expected).sum()
    assert statistic < (n - 2) + 5 * np.sqrt(2 * (n - 2))


def test_keys_that_differ_in_one_bit_give_unrelated_orders() -> None:
    n = 4096
    first = Permutation(n, 12345)(np.arange(n))
    for bit in range(64):
        second = Permutation(n, 12345 ^ (1 << bit))(np.arange(n))
        # The number of places in common is Poisson with mean 1.
        assert (first == second).sum() <= 9
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(n)


def test_consecutive_epochs_are_unrelated() -> None:
    n = 4096
    keys = keys_of(np.full(20, derive("d"), np.uint64), np.arange(20))
    orders = [Permutation(n, int(key))(np.arange(n)) for key in keys]
    for first, second in pairwise(orders):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(n)
        assert abs(np.corrcoef(first[:-1], second[1:])[0, 1]) < 5 / np.sqrt(n)


def test_the_order_is_the_same_in_every_release() -> None:
    """Golden values: a release that changes one changes what everybody's run sees."""
    assert derive("chunks", 0, "arxiv") == 1809363001449397965
    assert Permutation(10, 0)(np.arange(10)).tolist() == [2, 3, 0, 9, 6, 5, 7, 4, 1, 8]
    assert Permutation(1 << 40, derive("x"))(np.arange(4)).tolist() == [
        700184817080,
        157586657039,
        690105152240,
        742993853902,
    ]
    assert keys_of(np.array([7], np.uint64), np.array([3])).tolist() == [10753165928301472203]


def test_mixing_is_that_of_splitmix64() -> None:
    """The first outputs of the published generator, seeded with 1234567."""
    state = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * np.uint64(GOLDEN)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(state).tolist() == published


def test_many_permutations_at_once_are_each_their_own() -> None:
    sizes, keys = [1, 5, 1000, 77], [3, 1, 4, 1]
    which = np.array([2, 3, 1, 2, 0, 3, 3, 2])
    index = np.array([999, 0, 4, 17, 0, 76, 50, 0])
    digits, key = digits_of(sizes)[which], np.array(keys, np.uint64)[which]
    places = permute(index.astype(np.uint64), digits, key)
    expected = [Permutation(sizes[w], keys[w])(i) for w, i in zip(which, index, strict=True)]
    assert places.tolist() == [int(place) for place in expected]
    assert np.array_equal(unpermute(places, digits, key), index.astype(np.uint64))


def test_names_and_numbers_are_told_apart() -> None:
    assert len({derive("a", 1), derive("a", "1"), derive("a1"), derive('a", "1'), derive(1)}) == 5


def test_shapes_are_kept() -> None:
    permutation = Permutation(12, 1)
    assert permutation(np.arange(12).reshape(3, 4)).shape == (3, 4)
    assert permutation(5).shape == ()
    assert permutation([]).shape == (0,)


@pytest.mark.parametrize("n", [-1, (1 << 62) + 1])
def test_sizes_out_of_range(n: int) -> None:
    with pytest.raises(ValueError, match=f"must have 0 to 2\\^62 elements, got {n}"):
        Permutation(n, 0)


@pytest.mark.parametrize("index", [[-1], [3, 10]])
def test_indices_out_of_range(index: list[int]) -> None:
    with pytest.raises(ValueError, match="expected numbers from 0 to 9, got"):
        Permutation(10, 0)(index)
