"""The one matrix product, and what may stand in for a weight."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import nn

sizes = st.lists(st.integers(1, 4), min_size=0, max_size=2)


@settings(max_examples=30)
@given(rows=sizes, inner=sizes, outer=sizes, transposed=st.booleans())
def test_as_einsum(rows, inner, outer, transposed) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*rows, *inner))
    shape = (*outer, *inner) if transposed else (*inner, *outer)
    weight = rng.normal(size=shape)
    wanted = np.tensordot(
        x,
        weight,
        (
            range(len(rows), x.ndim),
            range(len(outer), weight.ndim) if transposed else range(len(inner)),
        ),
    )
    ours = nn.dot(
        jnp.asarray(x, jnp.float32),
        jnp.asarray(weight, jnp.float32),
        num=len(inner),
        transposed=transposed,
    )
    np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)


def test_the_weight_is_cast_to_the_type_of_x() -> None:
    assert nn.dot(jnp.ones(2, jnp.bfloat16), jnp.ones((2, 3))).dtype == jnp.bfloat16
    assert nn.dot(jnp.ones(2), np.ones((2, 3), np.float16)).dtype == jnp.float32


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"last 1 dimensions of x \(2, 3\).*first 1.*\(4, 5\)"):
        nn.dot(jnp.ones((2, 3)), jnp.ones((4, 5)))
    with pytest.raises(ValueError, match=r"must be the last 1 of the weight's \(3, 5\)"):
        nn.dot(jnp.ones((2, 3)), jnp.ones((3, 5)), transposed=True)
    with pytest.raises(ValueError, match="cannot contract 2 dimensions"):
        nn.dot(jnp.ones(3), jnp.ones((3, 5)), num=2)
    with pytest.raises(ValueError, match="x must be floating point, got int32"):
        nn.dot(jnp.ones(3, int), jnp.ones((3, 5)))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Int8:
    """Whole numbers and a scale for each output: a stand-in, as quantisation would make it."""

    values: jax.Array
    scales: jax.Array

    @property
    def shape(self):
        return self.values.shape

    @property
    def dtype(self):
        return self.scales.dtype

    def contract(self, x, num, *, transposed):
        if transposed:
            return nn.dot(x, self.values.astype(x.dtype) * self.scales, num=num, transposed=True)
        return nn.dot(x, self.values.astype(x.dtype), num=num) * self.scales[0].astype(x.dtype)

    def rows(self, ids):
        return jnp.take(self.values, ids, axis=0) * self.scales[0]


def rounded(weight):
    scales = jnp.max(jnp.abs(weight), axis=-2, keepdims=True) / 127
    return Int8(jnp.round(weight / scales).astype(jnp.int8), scales)


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope, x, each=None):
        return x + nn.MLP(16)(scope / "mlp", x), None


@dataclass(frozen=True)
class Model(nn.Module):
    unroll: bool = False

    def forward(self, scope, ids):
        embed = nn.Embed(10, 8, weight_init=nn.normal(1.0))
        x = embed(scope / "embed", ids)
        x, _ = nn.Repeat(Layer(), 3, unroll=self.unroll)(scope / "layers", x)
        return embed.attend(scope.again("embed"), x)


@pytest.mark.parametrize("unroll", [False, True])
def test_a_quantised_leaf_replaces_a_weight_under_jit_and_repeat(unroll) -> None:
    ids = jnp.array([[1, 2, 3]])
    model = Model(unroll)
    params = model.init(jax.random.key(0), ids)
    leaves = nn.paths(params)
    whole = ("embed/table", "layers/mlp/up/kernel", "layers/mlp/down/kernel")
    quantised = nn.from_paths(leaves | {path: rounded(leaves[path]) for path in whole})
    nearly = nn.from_paths(
        leaves | {path: (q := rounded(leaves[path])).values * q.scales for path in whole}
    )
    assert isinstance(nn.paths(quantised)["embed/table"], nn.Weight)
    ours = jax.jit(model.apply)(quantised, ids)
    np.testing.assert_allclose(ours, model.apply(nearly, ids), rtol=1e-4, atol=1e-4)
    assert jnp.any(jnp.abs(ours - model.apply(params, ids)) > 1e-4)


def test_a_stand_in_of_another_shape_is_refused() -> None:
    params = nn.Tree({"kernel": rounded(jnp.ones((3, 4))), "bias": jnp.zeros(4)})
    with pytest.raises(ValueError, match=r"kernel: the model expects shape \(5, 4\).*\(3, 4\)"):
        nn.Dense(4).apply(params, jnp.ones((2, 5)))


def test_a_narrowing_weight_and_its_gradients_are_those_of_numpy():
    """Many rows and more columns in than out: the weight is turned round, the numbers are not."""
    rng = np.random.default_rng(3)
    x, w, g = (rng.normal(size=shape) for shape in ((96, 24), (24, 8), (96, 8)))

    def total(x, w):
        return jnp.sum(nn.dot(x, w) * g.astype(np.float32))

    args = jnp.asarray(x, jnp.float32), jnp.asarray(w, jnp.float32)
    np.testing.assert_allclose(nn.dot(*args), x @ w, atol=1e-5)
    of_x, of_w = jax.grad(total, (0, 1))(*args)
    np.testing.assert_allclose(of_x, g @ w.T, atol=1e-5)
    np.testing.assert_allclose(of_w, x.T @ g, atol=1e-4)
