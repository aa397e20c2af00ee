from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.clusters import Clusters, choose


def chosen(
    num: int, pairs: list[tuple[int, int]], rank: list[int], weight: float = 0.9
) -> Clusters:
    return choose(
        num,
        np.array(pairs, np.int64).reshape(-1, 2),
        np.full(len(pairs), weight),
        np.array(rank, np.int64),
    )


def test_the_best_of_copies_stays() -> None:
    found = chosen(4, [(0, 1), (0, 2), (1, 2)], [2, 0, 1, 3])
    assert found.of.tolist() == [1, -1, 1, -1]
    assert found.cluster.tolist() == [0, 0, 0, 3]
    assert found.similarity.tolist() == [0.9, 0, 0.9, 0]


def test_the_far_end_of_a_chain_stays() -> None:
    found = chosen(4, [(0, 1), (1, 2), (2, 3)], [0, 1, 2, 3])
    assert found.of.tolist() == [-1, 0, -1, 2]
    assert set(found.cluster.tolist()) == {0}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_goes_is_near_to_what_stays(data: st.DataObject) -> None:
    num = data.draw(st.integers(1, 12))
    number = st.integers(0, num - 1)
    drawn = data.draw(st.sets(st.tuples(number, number), max_size=30))
    pairs = sorted({(min(a, b), max(a, b)) for a, b in drawn if a != b})
    rank = data.draw(st.permutations(range(num)))
    found = chosen(num, pairs, list(rank))
    kept = {k for k in range(num) if found.of[k] < 0}
    near = {*pairs, *((b, a) for a, b in pairs)}
    for k in range(num):
        if k in kept:  # nothing better that stays is near to it
            assert not any((k, other) in near and rank[other] < rank[k] for other in kept)
        else:
            assert int(found.of[k]) in kept
            assert (k, int(found.of[k])) in near
            assert rank[found.of[k]] < rank[k]
    order = data.draw(st.permutations(pairs))
    again = chosen(num, list(order), list(rank))
    assert again.of.tolist() == found.of.tolist()
