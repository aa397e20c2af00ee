"""A domain read with changing lengths, beside a loop over what is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stream.slow_order import SlowDomain

from barrow.stream.order.cut import Cut
from barrow.stream.order.reading import Reading
from barrow.stream.order.shuffle import Shuffle
from barrow.stream.order.windows import Windows


def check(num_tokens: int, chunk: int, legs: list[tuple[int, int]]) -> None:
    """Legs are (rows, piece)."""
    shuffle = Shuffle(7, ["d"], [num_tokens // chunk])
    slow = SlowDomain(7, "d", num_tokens, chunk)
    reading = Reading(Cut(num_tokens, chunk, legs[0][1]))
    first = tokens = 0
    for rows, piece in legs:
        if piece != reading.cut.piece:
            reading = reading.then(first, piece=piece)
        slow.set_piece(piece)
        windows = Windows([reading], shuffle)
        row = np.arange(first, first + rows)
        spans = windows.spans(np.zeros(rows, np.int64), row)
        for number, epoch, start, length in zip(
            row.tolist(),
            *(x.tolist() for x in (spans.epoch, spans.start, spans.length)),
            strict=True,
        ):
            assert (epoch, start, length) == slow.next_row()
            assert reading.tokens_before(number) == tokens
            assert reading.rows_for(tokens) == number
            assert reading.rows_for(tokens + 1) == number + 1
            assert reading.rows_for(tokens + length) == number + 1
            place = shuffle.places(*(np.array([x]) for x in (0, epoch, start // chunk)))[0]
            offset = start % chunk
            for inside in {offset, offset + length - 1}:
                piece_read = reading.find(epoch, int(place), inside)
                assert piece_read == (number, offset, offset + length)
            tokens += length
        first += rows
        # What was read before this leg is not of this leg.
        assert reading.tokens_before(first) == tokens


@settings(max_examples=60, deadline=None)
@given(
    num_tokens=st.integers(1, 120),
    chunk=st.integers(1, 16),
    legs=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 16)), min_size=1, max_size=6),
)
def test_small_domains(num_tokens: int, chunk: int, legs: list[tuple[int, int]]) -> None:
    check(num_tokens, chunk, [(rows, min(piece, chunk)) for rows, piece in legs])


SIZES = [4 * 256, 4 * 256 + 3, 4 * 600 + 1, 4 * 511 + 2, 4 * 512]
LEGS = [
    [(300, 4), (300, 2), (700, 1), (600, 3)],
    [(256, 4), (100, 2), (100, 1), (5, 4), (412, 2), (900, 4)],
    [(512, 2), (256, 4), (1, 3), (1024, 1), (513, 4)],
]


@pytest.mark.parametrize(("num_tokens", "legs"), [*zip(SIZES, LEGS * 2, strict=False)])
def test_several_groups(num_tokens: int, legs: list[tuple[int, int]]) -> None:
    check(num_tokens, 4, legs)


@pytest.mark.soak
@pytest.mark.parametrize("num_tokens", SIZES)
@pytest.mark.parametrize("legs", LEGS)
def test_several_groups_of_every_size(num_tokens: int, legs: list[tuple[int, int]]) -> None:
    check(num_tokens, 4, legs)


def test_what_an_earlier_reading_read_is_not_found_again() -> None:
    first = Reading(Cut(40, 8, 4))
    second = first.then(3, piece=2)  # chunks 0, 1, 2 have had 4 of their 8 tokens
    assert second.find(0, 1, 3) is None
    assert second.find(0, 1, 4) is not None
    third = second.then(3 + second.carried_rows, piece=4)
    assert third.carried is None
    assert (third.epoch, third.group) == (1, 0)
    assert third.find(0, 1, 7) is None


def test_a_finished_chunk_is_not_carried() -> None:
    reading = Reading(Cut(40, 8, 8)).then(2, piece=4)
    assert reading.carried is not None
    assert reading.carried.places.tolist() == [2, 3, 4]
    assert reading.find(0, 0, 0) is None
    assert reading.find(0, 1, 7) is None
