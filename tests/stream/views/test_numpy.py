from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from barrow.stream import Mixture, Stream


def test_batches_in_order(stores: Callable) -> None:
    store = stores([[50, 3, 20]])
    stream = Stream(store, seq_len=4, batch=2, seed=1, mixture=Mixture(epochs={"A": 1.0}))
    got = list(stream.numpy(2))
    assert [step for step, _ in got] == list(range(2, stream.num_steps or 0))
    assert all((b.tokens == stream.batch(s).tokens).all() for s, b in got)
    assert [step for step, _ in stream.numpy(1, 3)] == [1, 2]
    (_, part), *_ = stream.numpy(rank=1, of=2)
    assert (part.tokens == stream.batch(0).tokens[1:]).all()
    with pytest.raises(ValueError, match="steps count from 0, got start=-1"):
        stream.numpy(-1)


def test_without_end(stores: Callable) -> None:
    stream = Stream(stores([[50]]), seq_len=4, batch=2, seed=1)
    assert [step for step, _ in itertools.islice(stream.numpy(), 100)] == list(range(100))
