"""Unions and differences of intervals, against counting (DEEPSPEED-3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.train.profile.split import merged, without
from barrow.train.profile.trace import Trace

WINDOW = Trace(2.0, 38.0, (), ())
INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=12)


def covered(intervals: list[tuple[float, float]]) -> set[int]:
    """The units of time inside."""
    return {unit for start, end in intervals for unit in range(int(start), int(end))}


@given(INTERVALS, INTERVALS)
def test_intervals(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    left, right = ([(float(a), float(a + n)) for a, n in some] for some in (one, two))
    units = set(range(2, 38))
    first, second = merged(left, WINDOW), merged(right, WINDOW)
    assert covered(first) == covered(left) & units
    rest = without(first, second)
    assert covered(rest) == covered(first) - covered(second)
    for made in (first, rest):
        assert sum(end - start for start, end in made) == len(covered(made))
