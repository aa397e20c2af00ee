"""FLAX-8: parameters alone, and into another architecture by a map of names."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from jax.sharding import NamedSharding, PartitionSpec
from tests.checkpoint.runs import bits, make_run, placement

from barrow.checkpoint import Checkpoints, load_into, load_params, save_params
from barrow.checkpoint.read import open_checkpoint
from barrow.errors import CheckpointError
from barrow.nn.tree import Tree
from barrow.weights import Mismatch


def test_parameters_alone(tmp_path: Path) -> None:
    state, _ = make_run()
    save_params(tmp_path / "c", state.params, {"model": "tiny"})
    index = open_checkpoint(tmp_path / "c").index
    assert (index.step, index.about) == (None, {"model": "tiny"})
    assert all(path.startswith("params/") for path in index.leaves)
    back = load_params(tmp_path / "c")
    assert isinstance(back, Tree)
    assert bits(back) == bits(state.params)
    assert bits(load_params(tmp_path / "c", state.params)) == bits(state.params)
    save_params(tmp_path / "c", {"w": jnp.ones(2)})
    assert list(load_params(tmp_path / "c")) == ["w"]
    assert os.listdir(tmp_path) == ["c"]


def test_parameters_of_a_whole_state(tmp_path: Path) -> None:
    state, _ = make_run(devices=8)
    Checkpoints(tmp_path / "run" / "checkpoints").save(state, {}, wait=True)
    assert bits(load_params(tmp_path / "run")) == bits(state.params)
    place = placement(4)
    shapes = jax.eval_shape(lambda x: x, state)
    shardings = place.of_state(shapes).params
    for like in (None, shapes.params):
        found = load_params(tmp_path / "run", like, shardings=shardings)
        assert jax.tree.map(lambda x: x.sharding, found) == shardings
        assert bits(found) == bits(state.params)


def test_damage_is_found_here_too(tmp_path: Path) -> None:
    save_params(tmp_path / "c", {"w": jnp.ones(100)})
    path = tmp_path / "c" / "arrays-00000.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    for load in (load_params, lambda c: load_into({"w": jnp.ones(100)}, c)):
        with pytest.raises(CheckpointError, match="checksum differs"):
            load(tmp_path / "c")


def other() -> Tree:
    """A model that shares some, calls some otherwise, and has some of other shapes."""
    return Tree(
        {
            "embed": {"table": jnp.zeros((16, 8), jnp.bfloat16)},
            "blocks": {"kernel": jnp.zeros((2, 8, 8))},
            "head": {"kernel": jnp.full((8, 5), 3.0)},
            "fresh": {"bias": jnp.full(4, 7.0)},
        }
    )


def name_map(name: str) -> str | None:
    return {"layers/mlp/kernel": "blocks/kernel"}.get(name, name)


@pytest.mark.parametrize("table", [{"layers/mlp/kernel": "blocks/kernel"}, name_map])
def test_into_another_architecture(tmp_path: Path, table: object) -> None:
    state, _ = make_run()
    save_params(tmp_path / "c", state.params)
    params, report = load_into(other(), tmp_path / "c", table)  # type: ignore[arg-type]
    assert report.source == {
        "blocks/kernel": "layers/mlp/kernel",
        "embed/table": "embed/table",
    }
    assert report.missing == ("fresh/bias",)
    assert report.unexpected == ("norm/scale",)
    assert report.mismatched == (Mismatch("head/kernel", (8, 5), (8, 16)),)
    assert "2 of 4 parameters found" in report.report()
    assert "head/kernel: expected (8, 5), found (8, 16)" in report.report()
    assert np.array_equal(params["blocks"]["kernel"], state.params["layers"]["mlp"]["kernel"])
    table_there = state.params["embed"]["table"].astype(jnp.bfloat16)
    assert params["embed"]["table"].dtype == jnp.bfloat16
    assert np.array_equal(params["embed"]["table"], table_there)
    assert (params["head"]["kernel"] == 3).all()
    assert (params["fresh"]["bias"] == 7).all()


def test_left_out_on_purpose_and_laid_out_as_before(tmp_path: Path) -> None:
    safetensors.numpy.save_file(
        {"a": np.ones((8, 2), np.float32), "buffer": np.ones(1)}, tmp_path / "m.safetensors"
    )
    sharding = NamedSharding(placement(8).mesh, PartitionSpec("fsdp"))
    params = {"w": jax.device_put(np.zeros((8, 2), np.float32), sharding)}
    found, report = load_into(params, tmp_path / "m.safetensors", {"a": "w", "buffer": None})
    assert report.is_exact
    assert found["w"].sharding == sharding
    assert (found["w"] == 1).all()
    found, report = load_into({"w": np.zeros(2, np.float32)}, {"w": np.ones(2)})
    assert report.is_exact
    assert found["w"].dtype == jnp.float32


def test_two_for_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'a' and 'b' both map to 'w'"):
        load_into({"w": jnp.ones(1)}, {"a": np.ones(1), "b": np.ones(1)}, {"a": "w", "b": "w"})
