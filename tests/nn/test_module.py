"""Modules as descriptions, parameters as trees (FLAX-1, FLAX-2)."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn.scope import key_at


@dataclass(frozen=True)
class Layer(nn.Module):
    hidden: int = 8

    def forward(self, scope, x, each=None):
        y = nn.MLP(self.hidden)(scope / "mlp", nn.LayerNorm()(scope / "norm", x))
        return x + nn.Dropout(0.5)(scope / "drop", y), None


@dataclass(frozen=True)
class Model(nn.Module):
    vocab: int = 11
    width: int = 6
    layers: int = 3

    def forward(self, scope, ids, shift=0):
        embed = nn.Embed(self.vocab, self.width)
        x = embed(scope / "embed", ids) + shift
        x, _ = nn.Repeat(Layer(), self.layers, remat=nn.Policy())(scope / "layers", x)
        return embed.attend(scope.again("embed"), x)


IDS = jnp.array([[1, 2, 3, 4], [5, 6, 7, 8]])


def test_parameters_are_found_out_and_immutable() -> None:
    """FLAX-2: no input size is declared by hand. FLAX-1: an immutable pytree."""
    params = Model().init(jax.random.key(0), IDS)
    assert isinstance(params, nn.Tree)
    assert {path: leaf.shape for path, leaf in nn.paths(params).items()} == {
        "embed/table": (11, 6),
        "layers/mlp/down/bias": (3, 6),
        "layers/mlp/down/kernel": (3, 8, 6),
        "layers/mlp/up/bias": (3, 8),
        "layers/mlp/up/kernel": (3, 6, 8),
        "layers/norm/bias": (3, 6),
        "layers/norm/scale": (3, 6),
    }
    assert (
        nn.num_params(params)
        == sum(leaf.size for leaf in jax.tree.leaves(params))
        == 11 * 6 + 3 * (6 + 48 + 8 + 48 + 6 + 6)
    )
    with pytest.raises(FrozenInstanceError):
        Model().vocab = 3


def test_a_parameter_is_drawn_from_the_key_and_its_path() -> None:
    """And each of its layers from a key of its own, as if it were drawn alone."""
    key = jax.random.key(3)
    params = nn.paths(Model().init(key, IDS))
    draw = jax.random.normal
    table = 0.02 * draw(key_at(key, "embed/table"), (11, 6))
    np.testing.assert_allclose(params["embed/table"], table, rtol=1e-6)
    keys = jax.random.split(key_at(key, "layers/mlp/up/kernel"), 3)
    for layer, one in zip(params["layers/mlp/up/kernel"], keys, strict=True):
        np.testing.assert_allclose(layer, draw(one, (6, 8)) * 6**-0.5, rtol=1e-6)


def test_axes_are_shaped_as_the_parameters() -> None:
    axes = nn.paths(nn.axes(Model(), IDS))
    shapes = {path: spec.shape for path, spec in nn.describe(Model(), IDS).items()}
    assert axes["layers/mlp/up/kernel"] == ("layers", "embed", "mlp")
    assert {path: len(names) for path, names in axes.items()} == {
        path: len(shape) for path, shape in shapes.items()
    }


def test_shapes_of_a_model_far_larger_than_memory() -> None:
    """FLAX-2: `jax.eval_shape` of init allocates nothing."""
    jax.block_until_ready(jnp.zeros(8))
    key, ids = jax.random.key(0), jax.ShapeDtypeStruct((64, 4096), jnp.int32)
    before = sum(x.nbytes for x in jax.live_arrays())
    model = Model(vocab=10**7, width=2**16, layers=1000)
    shapes = jax.eval_shape(model.init, key, ids)
    assert shapes["embed"]["table"].shape == (10**7, 2**16)
    assert nn.num_params(shapes) > 6 * 10**11
    assert len(nn.describe(model, ids)) == len(jax.tree.leaves(shapes)) == 7
    assert "FLOPs" in nn.summary(model, ids)
    assert sum(x.nbytes for x in jax.live_arrays()) == before


def test_init_takes_shapes_and_is_the_same_compiled() -> None:
    key = jax.random.key(3)
    of_shapes = Model().init(key, jax.ShapeDtypeStruct(IDS.shape, IDS.dtype))
    compiled = jax.jit(Model().init)(key, IDS)
    for path, leaf in nn.paths(Model().init(key, IDS)).items():
        np.testing.assert_array_equal(leaf, nn.paths(of_shapes)[path])
        np.testing.assert_allclose(leaf, nn.paths(compiled)[path], rtol=1e-6)


def test_each_parameter_is_drawn_from_its_own_path() -> None:
    small, large = (Model(layers=n).init(jax.random.key(0), IDS) for n in (2, 3))
    np.testing.assert_array_equal(small["embed"]["table"], large["embed"]["table"])
    kernel = large["layers"]["mlp"]["up"]["kernel"]
    assert jnp.any(kernel[0] != kernel[1])
    assert jnp.any(kernel != large["layers"]["mlp"]["down"]["kernel"].swapaxes(1, 2))
    other = Model().init(jax.random.key(1), IDS)
    assert jnp.any(other["embed"]["table"] != large["embed"]["table"])


def test_transformations_compose() -> None:
    """FLAX-1: jit, grad, vmap, scan, all over one another."""
    model, key = Model(), jax.random.key(0)
    params = model.init(key, IDS)

    def loss(params, row):
        return jnp.sum(model.apply(params, row[None], keys={"dropout": key}) ** 2)

    alone = jax.jit(jax.grad(loss))
    plain = [alone(params, row) for row in IDS]
    mapped = jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(params, IDS)
    _, scanned = jax.lax.scan(lambda c, row: (c, jax.grad(loss)(params, row)), 0, IDS)
    for path, leaf in nn.paths(mapped).items():
        np.testing.assert_allclose(leaf, nn.paths(scanned)[path], rtol=1e-4, atol=1e-5)
        for number in range(2):
            wanted = nn.paths(plain[number])[path]
            np.testing.assert_allclose(leaf[number], wanted, rtol=1e-4, atol=1e-5)
    # Members of an ensemble: parameters are mapped over, too.
    keys = jax.random.split(key, 3)
    many = jax.jit(jax.vmap(lambda k: model.init(k, IDS)))(keys)
    logits = jax.jit(jax.vmap(model.apply, (0, None)))(many, IDS)
    np.testing.assert_allclose(
        logits[1], model.apply(jax.tree.map(lambda x: x[1], many), IDS), rtol=1e-4, atol=1e-6
    )


def test_apply_is_pure() -> None:
    params = Model().init(jax.random.key(0), IDS)
    copies = jax.tree.map(np.array, params)
    first = Model().apply(params, IDS)
    np.testing.assert_array_equal(first, Model().apply(params, IDS))
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, params, copies)))


def test_plain_dicts_and_keyword_arguments() -> None:
    params = Model().init(jax.random.key(0), IDS, shift=1)
    plain = {"embed": dict(params["embed"]), "layers": params["layers"]}
    np.testing.assert_array_equal(
        Model().apply(plain, IDS, shift=1), Model().apply(params, IDS, shift=1)
    )
    assert jnp.any(Model().apply(params, IDS) != Model().apply(params, IDS, shift=1))


def test_a_module_is_a_static_argument() -> None:
    traced = []

    def apply(model, params, x):
        traced.append(model)
        return model.apply(params, x)

    compiled = jax.jit(apply, static_argnums=0)
    params = Model().init(jax.random.key(0), IDS)
    for _ in range(2):
        compiled(Model(), params, IDS)
    assert len(traced) == 1


def test_called_without_a_scope() -> None:
    with pytest.raises(TypeError, match=r"Dense was called with ArrayImpl, not a scope: .*apply"):
        nn.Dense(3)(jnp.ones(2))


def test_a_module_without_forward_is_none() -> None:
    class Nothing(nn.Module):
        pass

    with pytest.raises(TypeError, match="forward"):
        Nothing()


def test_names_reach_the_compiled_program() -> None:
    params = Model().init(jax.random.key(0), IDS)
    text = jax.jit(Model().apply).lower(params, IDS).as_text(debug_info=True)
    assert "mlp/up" in text
