from __future__ import annotations

from barrow.stream import Mixture, Order, Phase, Schedule, constant
from barrow.stream.epochs import first_epoch


def test_steps_of_the_first_epoch() -> None:
    mixture = Mixture(weights={"a": 3.0, "b": 1.0})
    order = Order(1, constant(seq_len=4, batch=2, mixture=mixture), {"a": 400, "b": 101, "c": 0})
    for name in "ab":
        steps = first_epoch(order, name)
        assert steps is not None
        assert order.progress(steps)[name].epochs >= 1
        assert order.progress(steps - 1)[name].epochs < 1
    assert first_epoch(order, "c") is None


def test_never() -> None:
    mixture = Mixture(weights={"a": 1.0})
    order = Order(1, constant(seq_len=4, batch=2, mixture=mixture), {"a": 40, "b": 10})
    assert first_epoch(order, "b") is None
    capped = Mixture(epochs={"a": 1.0, "b": 0.5})
    ends = Order(1, constant(seq_len=4, batch=3, mixture=capped), {"a": 40, "b": 16})
    assert first_epoch(ends, "a") == ends.num_steps
    assert first_epoch(ends, "b") is None
    late = Schedule((Phase(0, 4, 2, mixture), Phase(70, 4, 2, Mixture(weights={"b": 1.0}))))
    assert first_epoch(Order(1, late, {"a": 40, "b": 10}), "b") == 72
