from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.rows.spans import Spans, equal_runs, joined, ranges


def spans_of(counts: list[int]) -> Spans:
    """So many spans in each row; the document is their number."""
    row = np.repeat(np.arange(len(counts)), counts)
    n = np.arange(len(row))
    return Spans(len(counts), row, n, n, n, n + 1, n, n % 2 == 0)


counts_drawn = st.lists(st.integers(0, 4), max_size=8)


@given(counts_drawn)
def test_segments_and_documents(counts: list[int]) -> None:
    spans = spans_of(counts)
    assert spans.segment.tolist() == [s + 1 for count in counts for s in range(count)]
    table = spans.documents()
    assert table.shape == (len(counts), max(counts, default=0))
    number = 0
    for row, count in zip(table.tolist(), counts, strict=True):
        assert row == list(range(number, number + count)) + [-1] * (len(row) - count)
        number += count


@given(counts_drawn, st.integers(0, 8), st.integers(0, 8))
def test_slices_of_rows(counts: list[int], a: int, b: int) -> None:
    part = spans_of(counts)[a:b]
    rows = list(range(len(counts)))[a:b]
    assert part.num_rows == max(0, len(rows))
    expected = [(r - rows[0], n) for n, r in enumerate(spans_of(counts).row.tolist()) if r in rows]
    assert list(zip(part.row.tolist(), part.document.tolist(), strict=True)) == expected


def test_joined() -> None:
    whole = spans_of([1, 2, 3])
    parts = [whole.take(whole.row == r) for r in (2, 0, 1)]
    again = joined(parts, num_rows=3)
    assert again.document.tolist() == whole.document.tolist()
    assert again.last.tolist() == whole.last.tolist()
    nothing = joined([], num_rows=4)
    assert len(nothing) == 0
    assert nothing.documents().shape == (4, 0)
    assert nothing.last.dtype == np.bool_


@given(st.lists(st.integers(0, 3), max_size=12))
def test_equal_runs(values: list[int]) -> None:
    values = sorted(values)
    runs = list(equal_runs(np.array(values, np.int64)))
    assert [value for value, _ in runs] == sorted(set(values))
    assert [v for value, part in runs for v in values[part] if v == value] == values


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6))
def test_ranges(pairs: list[tuple[int, int]]) -> None:
    first, count = (np.array([p[k] for p in pairs], np.int64) for k in (0, 1))
    numbers, which = ranges(first, count)
    assert numbers.tolist() == [a + k for a, n in pairs for k in range(n)]
    assert which.tolist() == [i for i, (_, n) in enumerate(pairs) for _ in range(n)]
