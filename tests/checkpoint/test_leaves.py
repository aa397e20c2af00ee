"""FLAX-8: leaves have names, in every kind of tree that a state is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.checkpoint.runs import make_run

from barrow.checkpoint.leaves import Kind, as_stored, as_used, kind_of, leaves, rebuilt
from barrow.nn.tree import Tree
from barrow.train.precision import Precision
from barrow.train.step import StepSettings


def test_paths_of_a_state() -> None:
    state, _ = make_run(StepSettings(Precision("fp16"), ema=0.9), optimizer="adamw")
    found = leaves(state)
    assert {"step", "key", "scale/scale", "scale/num_finite", "scale/left"} <= set(found)
    assert "params/layers/mlp/kernel" in found
    assert "ema/layers/mlp/kernel" in found
    assert "optimizer/0/mu/layers/mlp/kernel" in found
    assert "optimizer/0/count" in found
    assert "collections/seen" in found
    assert len(found) == len(jax.tree.leaves(state))
    back = rebuilt(state, found)
    assert jax.tree.structure(back) == jax.tree.structure(state)
    assert all(a is b for a, b in zip(jax.tree.leaves(back), found.values(), strict=True))


@pytest.mark.parametrize("optimizer", ["lion", "adafactor", "muon"])
def test_states_of_optimizers(optimizer: str) -> None:
    transformation = {
        "lion": optax.lion(1e-3),
        "adafactor": optax.adafactor(1e-3),
        "muon": optax.contrib.muon(1e-3),
    }[optimizer]
    params = Tree({"a": {"kernel": jnp.ones((256, 256)), "bias": jnp.ones(3)}})
    state = transformation.init(params)
    found = leaves(state)
    assert len(found) == len(jax.tree.leaves(state))
    assert jax.tree.structure(rebuilt(state, found)) == jax.tree.structure(state)


def test_kinds() -> None:
    assert kind_of(jnp.zeros((2, 3), jnp.bfloat16)) == Kind("BF16", (2, 3))
    keys = jax.random.split(jax.random.key(1), 5)
    assert kind_of(keys) == Kind("U32", (5, 2), "threefry2x32", "key<fry>")
    shapes = jax.eval_shape(lambda: jax.random.split(jax.random.key(1), 5))
    assert replace(kind_of(shapes), key="threefry2x32") == kind_of(keys)
    assert str(kind_of(keys)) == "key<fry>[5, 2]"
    back = as_used(jnp.asarray(np.asarray(as_stored(keys))), kind_of(keys))
    assert jnp.array_equal(jax.random.normal(back[3], 4), jax.random.normal(keys[3], 4))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": {"b": 3}}, "a/b is a int; a checkpoint holds arrays"),
        (3, "the state is a int"),
        ({"a": {"b": jnp.ones(1)}, "a/b": jnp.ones(1)}, "two leaves have the path 'a/b'"),
    ],
)
def test_trees_that_cannot_be_saved(tree: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        leaves(tree)


def test_an_element_type_that_no_file_has() -> None:
    with pytest.raises(ValueError, match="safetensors supports .*got int4"):
        kind_of(jnp.zeros(3, jnp.int4))
