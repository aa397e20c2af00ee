"""The immutable tree of parameters (FLAX-1)."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import nn

names = st.text(st.characters(blacklist_characters="/"), min_size=1, max_size=4)
nested = st.recursive(
    st.integers(),
    lambda inside: st.dictionaries(names, inside, min_size=1, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(names, nested, max_size=3))
def test_paths_lead_back(items) -> None:
    tree = nn.Tree(items)
    assert nn.from_paths(nn.paths(tree)) == tree
    assert nn.paths(tree) == nn.paths(items)
    # The same leaves in the same order as JAX gives for a dict: optimiser states look alike.
    assert jax.tree.leaves(tree) == jax.tree.leaves(items)
    rebuilt = jax.tree.unflatten(jax.tree.structure(tree), jax.tree.leaves(tree))
    assert rebuilt == tree
    assert isinstance(rebuilt, nn.Tree)


def test_paths_of_jax_are_those_of_a_dict() -> None:
    items = {"b": {"y": 1, "x": 2}, "a": 3}
    ours = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(nn.Tree(items))]
    assert ours == [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(items)]


def test_it_does_not_change() -> None:
    tree = nn.Tree({"a": 1, "b": {"c": 2}})
    with pytest.raises(TypeError):
        tree["a"] = 2
    with pytest.raises(AttributeError, match="a Tree is immutable; make another"):
        tree.a = 2
    with pytest.raises(AttributeError):
        tree["b"]._values = ()
    other = tree | {"a": 5, "d": 6}
    assert (tree["a"], other["a"], other["d"]) == (1, 5, 6)
    items = {"x": {"y": 1}}
    frozen = nn.Tree(items)
    items["x"]["y"] = 2
    assert frozen["x"]["y"] == 1


def test_other_mappings_are_frozen_too() -> None:
    from types import MappingProxyType

    tree = nn.Tree({"a": MappingProxyType({"b": 1})})
    assert isinstance(tree["a"], nn.Tree)
    assert jax.tree.leaves(tree) == [1]


def test_a_mapping() -> None:
    tree = nn.Tree({"b": 1, "a": 2})
    assert list(tree) == ["a", "b"]
    assert len(tree) == 2
    assert "a" in tree
    assert tree == {"a": 2, "b": 1}
    with pytest.raises(KeyError, match="c"):
        tree["c"]
    assert repr(nn.Tree({"w": jnp.ones((2, 3))})) == "Tree({'w': float32[2, 3]})"
    assert copy.deepcopy(tree) == tree


def test_optax_takes_it() -> None:
    params = nn.Tree({"a": jnp.ones(2), "b": {"c": jnp.ones(3)}})
    optimiser = optax.adamw(0.1)
    updates, _ = optimiser.update(params, optimiser.init(params), params)
    new = optax.apply_updates(params, updates)
    assert isinstance(new, nn.Tree)
    assert np.all(np.asarray(new["b"]["c"]) < 1)


def test_bad_names_and_paths() -> None:
    for name in ("a/b", "", 3):
        with pytest.raises(ValueError, match="a name in a Tree must be a string without '/', got"):
            nn.Tree({name: 1})
    with pytest.raises(ValueError, match="a/b: a is a leaf and a folder at once"):
        nn.from_paths({"a": 1, "a/b": 2})
    with pytest.raises(ValueError, match="a: a leaf and a folder at once"):
        nn.from_paths({"a/b": 2, "a": 1})
