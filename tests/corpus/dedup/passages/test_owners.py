"""Groups of equal windows and their owners, beside a plain dictionary (PILE-12)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.passages.owners import group_windows, repeated

WINDOW = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3), st.integers(0, 5))


@settings(max_examples=200, deadline=None)
@given(st.lists(WINDOW, unique=True, max_size=40))
def test_the_owner_is_the_best_of_those_with_both_halves_equal(
    windows: list[tuple[int, int, int, int]],
) -> None:
    columns = np.array(windows, np.int64).reshape(-1, 4).T
    first, second = columns[0].astype(np.uint64), columns[1].astype(np.uint64)
    groups = group_windows(first, second, columns[2], columns[3])
    assert len(groups.owners) == len({window[:2] for window in windows})
    assert (np.diff(first[groups.owners].astype(np.int64)) >= 0).all(), "sorted by their first half"
    for k, window in enumerate(windows):
        best = min(w for w in windows if w[:2] == window[:2])
        assert windows[groups.owners[groups.group[k]]] == best


@given(st.lists(st.integers(0, 30)))
def test_repeated_values(values: list[int]) -> None:
    flags = repeated(np.array(values, np.uint64)).tolist()
    assert flags == [values.count(value) > 1 for value in values]
