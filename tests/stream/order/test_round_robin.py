"""Spans read in turn, beside a list that is simply written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.stream.order.round_robin import RoundRobin


def written_out(lengths: list[int], piece: int) -> list[tuple[int, int, int]]:
    rows, offset = [], 0
    while any(length > offset for length in lengths):
        rows += [
            (span, offset, min(piece, length - offset))
            for span, length in enumerate(lengths)
            if length > offset
        ]
        offset += piece
    return rows


@settings(max_examples=150, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=20), piece=st.integers(1, 45))
def test_rows_are_those_of_the_list(lengths: list[int], piece: int) -> None:
    turns = RoundRobin(np.array(lengths), piece)
    expected = written_out(lengths, piece)
    assert turns.num_rows == len(expected)
    located = turns.locate(np.arange(len(expected)))
    assert list(zip(*(part.tolist() for part in located), strict=True)) == expected
    read = [0] * len(lengths)
    for row, (span, offset, length) in enumerate(expected):
        assert turns.read(row).tolist() == read
        assert {turns.row(span, offset + i) for i in range(length)} == {row}
        read[span] += length
    assert turns.read(len(expected)).tolist() == lengths
