"""An epoch of a domain in closed form, beside groups that are simply written out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.stream.order.cut import GROUP, Cut


def written_out(cut: Cut) -> list[tuple[int, int, int]]:
    """Place, offset and length of every row of an epoch."""
    lengths = []
    left = cut.num_tokens
    while left:
        lengths.append(min(left, cut.chunk))
        left -= lengths[-1]
    rows = []
    for first in range(0, len(lengths), GROUP):
        for offset in range(0, cut.chunk, cut.piece):
            for place, length in enumerate(lengths[first : first + GROUP], first):
                if offset < length:
                    rows.append((place, offset, min(cut.piece, length - offset)))
    return rows


def check(cut: Cut) -> None:
    expected = written_out(cut)
    assert cut.num_rows == len(expected)
    tokens = 0
    for row, (place, offset, length) in enumerate(expected):
        assert cut.tokens_before(row) == tokens
        assert cut.rows_for(tokens) == row
        assert cut.rows_for(tokens + 1) == row + 1
        assert cut.row(place, offset) == cut.row(place, offset + length - 1) == row
        group, within = cut.group_of(row)
        assert group == place // GROUP
        read = cut.read(group, within)
        assert group * GROUP * cut.chunk + read.sum() == tokens
        assert read[place % GROUP] == offset
        assert len(read) == len(cut.lengths(group))
        tokens += length
    assert tokens == cut.num_tokens
    assert sum(cut.lengths(g).sum() for g in range(cut.whole_groups + 1)) == tokens


@settings(max_examples=100, deadline=None)
@given(tokens=st.integers(0, 300), chunk=st.integers(1, 20), piece=st.integers(1, 20))
def test_one_group(tokens: int, chunk: int, piece: int) -> None:
    check(Cut(tokens, chunk, min(piece, chunk)))


@pytest.mark.parametrize(
    "tokens", [256 * 5, 256 * 5 + 1, 256 * 5 - 1, 256 * 5 + 4, 512 * 5, 600 * 5 + 3, 511 * 5 + 4]
)
@pytest.mark.parametrize("piece", [1, 2, 5])
def test_several_groups(tokens: int, piece: int) -> None:
    check(Cut(tokens, 5, piece))
