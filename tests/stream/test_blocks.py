from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream import Mixture, Order, Phase, Schedule
from barrow.stream.blocks import Blocks
from barrow.stream.order.order import Rows


class Starts:
    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        return seq_len

    def samples(self, rows: Rows) -> list[tuple[int, int]]:
        return list(zip(rows.domain.tolist(), rows.start.tolist(), strict=True))


def order(end: float | None) -> Order:
    mixture = Mixture(weights={"a": 2.0, "b": 1.0}, max_epochs=end)
    phases = (Phase(0, 4, 3, mixture), Phase(5, 2, 2, mixture), Phase(6, 4, 50, mixture))
    return Order(9, Schedule(phases), {"a": 400, "b": 101})


@given(st.integers(0, 11), st.integers(1, 40), st.sampled_from([None, 5.0]), st.data())
def test_blocks_change_nothing(
    step: int, at_once: int, end: float | None, data: st.DataObject
) -> None:
    """Steps of a block, across phases and up to the end, are what they would be alone."""
    made = order(end)
    blocks = Blocks(made, Starts(), at_once=at_once)
    alone = Starts().samples(made.rows(step))
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(alone))] * 2)))
    assert blocks.samples(step, range(a, b)) == alone[a:b]
    assert Starts().samples(blocks.rows(step)) == alone


def test_the_last_step_and_no_further() -> None:
    made = order(2.0)
    blocks = Blocks(made, Starts(), at_once=1000)
    last = made.num_steps
    assert last is not None
    assert len(blocks.rows(last - 1)) == 50
    with pytest.raises(ValueError, match=f"step {last} is past the end"):
        blocks.rows(last)
    with pytest.raises(ValueError, match="steps of one phase, from 0 to 5"):
        made.rows_of_steps(3, 6)
    with pytest.raises(ValueError, match="steps of one phase"):
        made.rows_of_steps(3, 3)
    assert made.phase_steps(5) == (5, 6)
    assert made.phase_steps(7) == (6, last)
    assert order(None).phase_steps(70) == (6, None)
