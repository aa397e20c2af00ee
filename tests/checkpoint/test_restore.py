"""ACCELERATE-13: shard by shard; the host holds a slice at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding
from tests.checkpoint.runs import placement

from barrow.checkpoint import save_params
from barrow.checkpoint.read import Checkpoint, open_checkpoint
from barrow.checkpoint.restore import placed, restore
from barrow.errors import CheckpointError


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    arrays = {"w": np.arange(64.0, dtype=np.float32).reshape(8, 8), "b": np.ones(8, np.float32)}
    save_params(tmp_path / "c", arrays)
    return open_checkpoint(tmp_path / "c")


def test_each_slice_is_read_once_and_none_is_larger(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, tuple[int, ...]]] = []
    block = Checkpoint.block

    def watched(self: Checkpoint, path: str, where: Any) -> Any:
        found = block(self, path, where)
        read.append((path, found.shape))
        return found

    monkeypatch.setattr(Checkpoint, "block", watched)
    mesh = placement(8).mesh
    shardings = {
        "b": NamedSharding(mesh, PartitionSpec()),
        "w": NamedSharding(mesh, PartitionSpec("fsdp")),
    }
    like = {"b": jnp.zeros(8), "w": jnp.zeros((8, 8))}
    found = restore(checkpoint, like, prefix="params/", shardings=shardings)
    assert read == [("params/b", (8,)), *[("params/w", (1, 8))] * 8]
    assert np.array_equal(found["w"], np.arange(64.0).reshape(8, 8))
    assert found["b"].is_fully_replicated


def test_where_like_lies(checkpoint: Checkpoint) -> None:
    devices = jax.devices()
    sharding = NamedSharding(placement(4).mesh, PartitionSpec(None, "fsdp"))
    like = {
        "w": jax.ShapeDtypeStruct((8, 8), np.float32, sharding=sharding),
        "b": jax.device_put(np.zeros(8, np.float32), devices[3]),
    }
    found = restore(checkpoint, like, prefix="params/")
    assert found["w"].sharding == sharding
    assert found["b"].devices() == {devices[3]}
    plain = placed(checkpoint, "params/w", None)
    assert plain.devices() == {devices[0]}
    # Not bound to its device, as fresh arrays are not: it goes along with others.
    assert (plain[0] + found["b"]).devices() == {devices[3]}
    one = placed(checkpoint, "params/w", SingleDeviceSharding(devices[2]))
    assert one.devices() == {devices[2]}


def test_what_is_restored_may_be_taken(checkpoint: Checkpoint) -> None:
    """Donated buffers are written over; the file under them must not be."""
    before = (checkpoint.folder / "arrays-00000.safetensors").read_bytes()
    for sharding in (None, NamedSharding(placement(2).mesh, PartitionSpec("fsdp"))):
        array = placed(checkpoint, "params/w", sharding)
        jax.jit(lambda x: x * 0 - 1, donate_argnums=0)(array).block_until_ready()
    assert np.array_equal(checkpoint.tensors()["params/w"], np.arange(64.0).reshape(8, 8))
    assert (checkpoint.folder / "arrays-00000.safetensors").read_bytes() == before


def test_what_is_restored_shares_nothing_with_the_file(tmp_path: Path) -> None:
    """JAX takes memory as it is where that begins at a multiple of 64 bytes; here it does."""
    whole = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    for name in ("w" * length for length in range(1, 65)):
        save_params(tmp_path / "c", {name: whole})
        path = tmp_path / "c" / "arrays-00000.safetensors"
        if (path.stat().st_size - whole.nbytes) % 64 == 0:
            break
    checkpoint = open_checkpoint(tmp_path / "c")
    mesh = placement(2).mesh
    laid = (None, *(NamedSharding(mesh, spec) for spec in (PartitionSpec("fsdp"), PartitionSpec())))
    arrays = [placed(checkpoint, f"params/{name}", sharding) for sharding in laid]
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    assert not checkpoint.tensors()[f"params/{name}"].any()
    for array in arrays:
        assert np.array_equal(array, whole)


def test_keys_of_another_kind_with_as_many_bits(tmp_path: Path) -> None:
    save_params(tmp_path / "c", {"key": jax.random.key(0, impl="rbg")})
    like = {"key": jax.random.key(0, impl="unsafe_rbg")}
    with pytest.raises(CheckpointError, match=r"expected key<urbg>\[4\], found key<rbg>\[4\]"):
        restore(open_checkpoint(tmp_path / "c"), like, prefix="params/")


def test_all_differences_in_one_error(checkpoint: Checkpoint) -> None:
    like = {"w": jnp.zeros((8, 9)), "c": jnp.zeros(8), "d": jnp.zeros(8)}
    with pytest.raises(CheckpointError) as raised:
        restore(checkpoint, like, prefix="params/")
    assert str(raised.value).splitlines()[1:] == [
        "missing: 2",
        "  params/c",
        "  params/d",
        "unexpected: 1",
        "  params/b",
        "mismatched: 1",
        "  params/w: expected F32[8, 9], found F32[8, 8]",
    ]
    many = {f"x{i:02}": jnp.zeros(1) for i in range(13)}
    with pytest.raises(CheckpointError, match=r"missing: 13\n(  params/x.*\n){10}  … and 3 more"):
        restore(checkpoint, many, prefix="params/")
