from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.candidates import candidate_pairs


def pairs_of(bands: list[int], numbers: list[int] | None = None) -> set[tuple[int, int]]:
    numbers = list(range(len(bands))) if numbers is None else numbers
    found = candidate_pairs(
        np.array(bands, np.uint64),
        np.array([n * 7919 % 1009 for n in numbers], np.uint64),
        np.array(numbers, np.int64),
    ).tolist()
    assert len({tuple(pair) for pair in found}) == len(found)
    return {(a, b) for a, b in found}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=40))
def test_small_buckets_give_all_pairs(bands: list[int]) -> None:
    expected = {
        (i, j)
        for i in range(len(bands))
        for j in range(i + 1, len(bands))
        if bands[i] == bands[j] != 0 and bands.count(bands[i]) <= 16
    }
    found = pairs_of(bands)
    assert {(a, b) for a, b in found if bands.count(bands[a]) <= 16} == expected
    assert all(bands[a] == bands[b] != 0 for a, b in found)


@pytest.mark.parametrize("size", [17, 100, 5000])
def test_large_buckets_cost_no_square_and_stay_connected(size: int) -> None:
    found = pairs_of([9] * size)
    assert len(found) == 2 * size - 3
    reached, waiting = {0}, [0]
    neighbours: dict[int, list[int]] = {}
    for a, b in found:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    while waiting:
        for other in neighbours[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    assert len(reached) == size


def test_the_order_of_the_input_makes_no_difference() -> None:
    rng = np.random.default_rng(0)
    bands = rng.integers(1, 4, 100).tolist()
    order = rng.permutation(100).tolist()
    assert pairs_of(bands) == pairs_of([bands[k] for k in order], order)


def test_nothing() -> None:
    assert pairs_of([]) == set()
    assert pairs_of([0, 0, 0]) == set()
