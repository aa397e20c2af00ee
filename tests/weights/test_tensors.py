from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from barrow.weights.tensors import LazyTensor, Tensors, lazy


def counted() -> tuple[Tensors, list[int]]:
    reads: list[int] = []

    def read() -> np.ndarray:
        reads.append(1)
        return np.arange(6, dtype=np.int16).reshape(2, 3)

    return Tensors({"layer.weight": LazyTensor((2, 3), np.dtype(np.int16), read)}), reads


def test_nothing_is_read_until_it_is_asked_for() -> None:
    tensors, reads = counted()
    assert list(tensors) == ["layer.weight"]
    assert "layer.weight" in tensors
    assert tensors.entry("layer.weight").shape == (2, 3)
    assert (tensors.num_elements, tensors.num_bytes) == (6, 12)
    assert repr(tensors) == "<1 tensors, 12 bytes>"
    assert reads == []
    assert tensors["layer.weight"].sum() == 15
    assert reads == [1]


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    tensors, _ = counted()
    with pytest.raises(KeyError, match=r"no tensor 'layer.wieght'; did you mean 'layer.weight'\?"):
        tensors["layer.wieght"]
    assert tensors.get("nothing at all") is None


def test_then_changes_what_is_read_and_stays_lazy() -> None:
    tensors, reads = counted()
    turned = tensors.entry("layer.weight").then(np.transpose, shape=(3, 2))
    assert reads == []
    assert turned.shape == turned.read().shape == (3, 2)
    assert tensors.entry("layer.weight").then(np.negative).shape == (2, 3)


def test_arrays_of_any_kind() -> None:
    tensors = lazy({"n": np.ones(3), "j": jnp.ones((2, 2), jnp.bfloat16), "f": 1.5})
    assert tensors.entry("j").dtype == jnp.bfloat16
    assert tensors["j"].shape == (2, 2)
    assert tensors["f"] == 1.5
    assert lazy(tensors) is tensors
