from __future__ import annotations

from collections.abc import Callable

import pytest

from barrow.stream import Batches, Mixture, Order, constant
from barrow.stream.order import Rows
from barrow.stream.part import Part


class Numbers:
    """A source whose samples are the numbers of items; it notes how many it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        return seq_len + len(rows())

    def samples(self, rows: Rows) -> list[int]:
        self.asked.append(len(rows))
        return rows.start.tolist()


def made(at_once: int = 1) -> tuple[Numbers, Batches]:
    source = Numbers()
    schedule = constant(seq_len=3, batch=4, mixture=Mixture(weights={"x": 1.0}))
    order = Order.of_items(5, schedule, {"x": 100})
    return source, Batches(order, source, lambda samples, part: (samples, part), at_once=at_once)


def test_a_costly_source_is_asked_for_no_more_than_needed() -> None:
    source, batches = made()
    samples, part = batches.batch(3, rows=slice(1, 3), columns=slice(2, 5))
    assert source.asked == [2]
    assert part == Part(3, range(1, 3), range(2, 5), 7)
    assert samples == batches.samples(3)[1:3]
    assert batches.shape(3) == (4, 7)


def test_a_cheap_source_is_asked_once_for_many() -> None:
    source, batches = made(at_once=64)
    _, alone = made()
    for step in (0, 15, 3, 16):
        assert batches.batch(step)[0] == alone.batch(step)[0]
    assert source.asked == [64, 64]


def test_where_reading_ends() -> None:
    _, endless = made()
    assert (endless.stop(3), endless.stop(3, 9)) == (None, 9)
    schedule = constant(seq_len=3, batch=4, mixture=Mixture(epochs={"x": 1.0}))
    once = Batches(Order.of_items(5, schedule, {"x": 10}), Numbers(), lambda s, part: s)
    assert (once.stop(0), once.stop(0, 2), once.stop(0, 9)) == (3, 2, 3)
    with pytest.raises(ValueError, match="steps count from 0, got start=-1"):
        once.stop(-1)


def test_bad_input() -> None:
    _, batches = made()
    with pytest.raises(ValueError, match="steps count from 0, got -1"):
        batches.batch(-1)
    with pytest.raises(ValueError, match="3 ranks cannot share a batch of 4 rows"):
        batches.batch(0, rank=0, of=3)
    with pytest.raises(ValueError, match="rows 2:5:None is no part of 4"):
        batches.batch(0, rows=slice(2, 5))
    with pytest.raises(ValueError, match="columns 0:8:None is no part of 7"):
        batches.batch(0, columns=slice(0, 8))
