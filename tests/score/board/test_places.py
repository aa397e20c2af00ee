"""Ranks of results: which are clearly better or worse (PILE-10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.score.board.data import places

ENDS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda pair: tuple(sorted(pair)))


@given(st.lists(st.none() | ENDS, max_size=12))
def test_a_place_is_what_clearly_better_and_worse_results_leave(intervals: list) -> None:
    """The definition, pair by pair."""
    expected = []
    for one in intervals:
        known = [other for other in intervals if None not in (one, other)]
        better = sum(other[1] < one[0] for other in known)
        worse = sum(other[0] > one[1] for other in known)
        expected.append((better + 1, len(intervals) - worse))
    assert places(intervals) == expected


def test_touching_intervals_overlap() -> None:
    assert places([(1.0, 2.0), (2.0, 3.0), (3.5, 4.0)]) == [(1, 2), (1, 2), (3, 3)]
    assert places([]) == []


def test_an_unknown_interval_settles_nothing() -> None:
    assert places([(1.0, 2.0), None, (3.0, 4.0)]) == [(1, 2), (1, 3), (2, 3)]
