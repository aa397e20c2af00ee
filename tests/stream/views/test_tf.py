from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from barrow.errors import MissingExtra
from barrow.stream import Stream


def test_the_same_batches(stores: Callable) -> None:
    """PILE-3: TensorFlow."""
    import tensorflow as tf

    store = stores([[50, 3, 20]])
    stream = Stream(store, seq_len=4, batch=2, seed=1, epochs={"A": 1.0})
    dataset = stream.tf(start=1)
    assert isinstance(dataset, tf.data.Dataset)
    got = list(dataset.as_numpy_iterator())
    assert [int(item["step"]) for item in got] == list(range(1, stream.num_steps or 0))
    for item in got:
        for name, array in stream.batch(int(item["step"])).arrays().items():
            assert (item[name] == array).all()
            assert item[name].dtype == array.dtype
    (part, *_) = stream.tf(rank=1, of=2).as_numpy_iterator()
    assert (part["tokens"] == stream.batch(0).tokens[1:]).all()


def test_without_tensorflow(stores: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(stores([[50]]), seq_len=4, batch=2, seed=1)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(MissingExtra, match=r"'.\[tf\]"):
        stream.tf()
