"""Embed, alone and tied (FLAX-9)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn


@dataclass(frozen=True)
class Tied(nn.Module):
    def forward(self, scope, ids):
        embed = nn.Embed(11, 6)
        x = jnp.tanh(embed(scope / "embed", ids))
        return embed.attend(scope.again("embed"), x)


@golden("torch")
def by_torch(ids):
    import torch

    table = torch.nn.Embedding(11, 6)
    y = torch.tanh(table(torch.tensor(ids))) @ table.weight.T
    toward = torch.randn(y.shape, generator=torch.Generator().manual_seed(0))
    y.backward(toward)
    return table.weight, y, toward, table.weight.grad


def test_as_torch_with_gradients_from_both_ends(close) -> None:
    ids = np.array([[1, 10, 1], [0, 4, 4]])
    table, wanted, toward, gradient = by_torch(ids)
    params = nn.from_paths({"embed/table": jnp.asarray(table)})
    ours, pull = jax.vjp(lambda p: Tied().apply(p, jnp.asarray(ids)), params)
    close(ours, wanted)
    close(pull(jnp.asarray(toward))[0]["embed"]["table"], gradient)


def test_one_table_in_the_tree() -> None:
    ids = jnp.zeros((2, 3), int)
    assert set(nn.describe(Tied(), ids)) == {"embed/table"}
    assert nn.axes(Tied(), ids)["embed"]["table"] == ("vocab", "embed")


def test_rows_have_the_type_of_the_table() -> None:
    params = nn.Tree({"table": jnp.ones((4, 2), jnp.bfloat16)})
    assert nn.Embed(4, 2).apply(params, jnp.array([1])).dtype == jnp.bfloat16


@pytest.mark.parametrize("wrong", [-1, 11, 2**30])
def test_an_unknown_id_is_an_error_where_ids_are_known_and_nan_where_not(wrong) -> None:
    ids = jnp.array([3, wrong])
    params = nn.Embed(11, 6).init(jax.random.key(0), ids)
    with pytest.raises(ValueError, match=rf"model: id {wrong} is not in a table of 11 \(0 to 10\)"):
        nn.Embed(11, 6).apply(params, ids)
    rows = jax.jit(nn.Embed(11, 6).apply)(params, ids)
    assert bool(jnp.all(jnp.isfinite(rows[0])))
    assert bool(jnp.all(jnp.isnan(rows[1])))


def test_numpy_ids_and_no_ids() -> None:
    params = nn.Embed(4, 2).init(jax.random.key(0), jnp.array([0]))
    assert nn.Embed(4, 2).apply(params, np.array([3], np.uint16)).shape == (1, 2)
    assert nn.Embed(4, 2).apply(params, np.zeros((0,), np.int32)).shape == (0, 2)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="ids must be integers, got float32"):
        nn.Embed(4, 2).init(jax.random.key(0), jnp.ones(3))
    params = nn.Embed(4, 2).init(jax.random.key(0), jnp.array([0]))
    with pytest.raises(ValueError, match=r"x must have 2 features, got shape \(1, 3\)"):
        nn.Embed(4, 2).attend(nn.Scope(_trace(params)), jnp.ones((1, 3)))


def _trace(params):
    from barrow.nn.trace import Trace

    return Trace(params, {}, {}, (), None)
