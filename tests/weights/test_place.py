"""Arrays onto devices; eight virtual ones (ACCELERATE-13)."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from barrow.errors import MissingExtra
from barrow.weights import open_safetensors, place, write_safetensors


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
