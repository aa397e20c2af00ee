from __future__ import annotations

import numpy as np

from barrow.models.clip.names import (
    Entry,
    convolution,
    into_heads,
    out_of_heads,
    read,
    tower,
    written,
)
from barrow.models.huggingface.names import linear, same


def test_layouts_are_those_of_torch() -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(8, 6))  # PyTorch computes x @ weight.T
    (ours,) = linear("w", "p", 6, 8).ours(weight)
    np.testing.assert_array_equal(ours, weight.T)
    kernel, bias = into_heads("q", "p", 8, 2)
    weight = rng.normal(size=(8, 8))
    (heads,) = kernel.ours(weight)
    assert heads.shape == (8, 2, 4)
    np.testing.assert_array_equal(heads.reshape(8, 8), weight.T)
    assert bias.our_shape == (2, 4)
    out, _ = out_of_heads("o", "p", 8, 2, 6)
    weight = rng.normal(size=(6, 8))
    (back,) = out.ours(weight)
    np.testing.assert_array_equal(back.reshape(8, 6), weight.T)
    conv = convolution("c", "p", 3, 4, 2)
    (window,) = conv.ours(np.arange(48.0).reshape(4, 3, 2, 2))
    assert window.shape == (2, 2, 3, 4)
    assert window[1, 0, 2, 3] == np.arange(48.0).reshape(4, 3, 2, 2)[3, 2, 1, 0]


def test_layers_but_the_last_are_one_array_and_back() -> None:
    entries = list(tower([same("h.{}.w", "t/{}/w", 3)], layers=3))
    assert [entry.names() for entry in entries] == [["h.0.w", "h.1.w"], ["h.2.w"]]
    assert [entry.line.paths for entry in entries] == [("t/layers/w",), ("t/last/w",)]
    assert [entry.shape() for entry in entries] == [(2, 3), (3,)]
    theirs = {f"h.{n}.w": np.full(3, n, np.float16) for n in range(3)}
    found = {}
    for entry in entries:
        found |= read(entry, theirs, {key: key for key in theirs}, np.float32, lambda *_: None)
    assert found["t/layers/w"].dtype == np.float32
    np.testing.assert_array_equal(found["t/layers/w"], [[0, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(written(entries[0], found, 1), [1, 1, 1])
    np.testing.assert_array_equal(written(entries[1], found, 0), [2, 2, 2])


def test_one_layer_is_the_last() -> None:
    assert [e.names() for e in tower([same("h.{}.w", "t/{}/w", 3)], layers=1)] == [["h.0.w"]]
    assert Entry(same("a", "b", 2)).names() == ["a"]
