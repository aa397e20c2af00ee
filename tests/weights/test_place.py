"""Arrays onto devices; eight virtual ones (ACCELERATE-13)."""

from __future__ import annotations

import functools
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from barrow.errors import MissingExtra
from barrow.weights import open_safetensors, place, write_safetensors
from barrow.weights.place import place_layers


class Watched:
    """An array that keeps what was asked of it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.asked = array, array.shape, []

    def __getitem__(self, index: object) -> np.ndarray:
        self.asked.append(self.array[index].size)
        return self.array[index]


def test_each_device_reads_its_part() -> None:
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
    array = Watched(np.arange(64, dtype=np.float32).reshape(8, 8))
    placed = place(array, sharding=NamedSharding(mesh, PartitionSpec("a", "b")))
    np.testing.assert_array_equal(np.asarray(placed), array.array)
    assert placed.addressable_shards[0].data.shape == (2, 4)
    assert max(array.asked) == 8


MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))


@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
@pytest.mark.parametrize(
    "sharding",
    [
        None,
        SingleDeviceSharding(jax.devices()[3]),
        NamedSharding(MESH, PartitionSpec(None, "b", "a")),
        NamedSharding(MESH, PartitionSpec("b", "a")),
    ],
)
def test_layers_into_one_array(
    sharding: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(place_layers.__globals__, "_AT_ONCE", at_once)
    layers = np.random.default_rng(0).standard_normal((6, 8, 4)).astype(np.float32)
    read = [functools.partial(layers.__getitem__, i) for i in range(6)]
    placed = place_layers(read, sharding=sharding, dtype="bfloat16")
    assert placed.dtype == "bfloat16"
    np.testing.assert_array_equal(placed, layers.astype("bfloat16"))
    if sharding is not None:
        assert placed.sharding.is_equivalent_to(sharding, 3)


@pytest.mark.parametrize("at_once", [64, 200])
@pytest.mark.parametrize(
    "sharding",
    [None, SingleDeviceSharding(jax.devices()[3]), NamedSharding(MESH, PartitionSpec("b"))],
)
def test_large_blocks_go_in_pieces(
    sharding: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As to devices that have their own memory: no transfer is larger than is allowed."""
    inside = place_layers.__globals__
    monkeypatch.setitem(inside, "_AT_ONCE", at_once)
    monkeypatch.setitem(inside, "_shares_memory", lambda device: False)
    sent: list[int] = []

    def put(x: Any, device: Any = None) -> Any:
        if isinstance(x, np.ndarray):
            sent.append(x.nbytes)
        return plain(x, device)

    plain = jax.device_put
    monkeypatch.setattr(jax, "device_put", put)
    array = np.random.default_rng(0).standard_normal((1, 14, 4)).astype(np.float32)
    turned = place(array[0].T, sharding=None)
    one = place(array[0], sharding=sharding, dtype="bfloat16")
    stack = place_layers([lambda: array[0]] * 2, sharding=None, dtype="float32")
    assert max(sent) <= at_once
    np.testing.assert_array_equal(turned, array[0].T)
    assert one.dtype == "bfloat16"
    np.testing.assert_array_equal(one, array[0].astype("bfloat16"))
    np.testing.assert_array_equal(stack, np.concatenate([array, array]))
    if sharding is not None:
        assert one.sharding.is_equivalent_to(sharding, 2)


def test_the_host_holds_one_layer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stack that is divided over some devices and repeated on others, NumPy has one layer."""
    monkeypatch.setitem(place_layers.__globals__, "_AT_ONCE", 0)
    layers = np.ones((16, 256, 256), np.float32)
    read = [functools.partial(layers.__getitem__, i) for i in range(16)]
    sharding = NamedSharding(MESH, PartitionSpec(None, None, "b"))
    tracemalloc.start()
    try:
        placed = place_layers(read, sharding=sharding)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(placed.addressable_shards) == 8
    # A block for each of eight devices, the layer four times, and a block that is copied.
    assert peak < 6 * layers[0].nbytes


def test_without_a_sharding_and_with_a_type(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "x.safetensors", {"a": np.arange(6.0).reshape(2, 3)})
    array = open_safetensors(tmp_path / "x.safetensors")["a"]
    placed = place(array, dtype="bfloat16")
    assert isinstance(placed, jax.Array)
    assert placed.dtype == "bfloat16"
    assert placed.tolist() == array.tolist()


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtra, match=r"needs JAX: pip install '.\[train\]'"):
        place(np.ones(1))
