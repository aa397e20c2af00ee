"""Activations of rows: their formulas, and that the kernels can be made for a GPU (FLAX-2)."""

import logging
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn import hopper
from barrow.nn.layers import act_rows as module
from barrow.nn.layers.activations import gelu, gelu_tanh, quick_gelu, silu


@golden("torch")
def by_torch(act, product, bias, above):
    """The activation of a sum, and its gradients."""
    import torch

    functions = {
        "gelu": torch.nn.functional.gelu,
        "gelu_tanh": partial(torch.nn.functional.gelu, approximate="tanh"),
        "quick_gelu": lambda y: y * torch.sigmoid(1.702 * y),
    }
    wide = [torch.tensor(a, requires_grad=True) for a in (product, bias)]
    y = functions[act](wide[0] + wide[1])
    y.backward(torch.tensor(above))
    return y, [a.grad for a in wide]


@pytest.fixture
def plain_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, but for the kernels themselves: their plain twins take their place."""
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    monkeypatch.setattr(module, "kernel", module.plain)
    monkeypatch.setattr(module, "gradient_kernel", module.plain_gradient)


@pytest.mark.parametrize("act", [gelu, gelu_tanh, quick_gelu])
def test_values_and_gradients_are_those_of_pytorch_in_float64(act, plain_kernels) -> None:
    random = np.random.default_rng(0)
    product, above = (random.normal(size=(48, 40)) * 3 for _ in range(2))
    bias = random.normal(size=40)
    wanted, gradients = by_torch(act.__name__, product, bias, above)
    given = [jnp.asarray(a, jnp.float32) for a in (product, bias)]
    got, back = jax.vjp(lambda p, b: module.act_rows(p, b, act), *given)
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    for ours, theirs in zip(back(jnp.asarray(above, jnp.float32)), gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_an_mlp_uses_it_and_gives_the_numbers_of_other_hardware(monkeypatch, caplog) -> None:
    mlp = nn.MLP(1024, activation="gelu_new")
    x = jnp.asarray(np.random.default_rng(1).normal(size=(16, 8)), jnp.bfloat16)
    params = mlp.init(jax.random.key(0), x)

    def grads():
        return jax.grad(lambda p: mlp.apply(p, x).astype(jnp.float32).sum())(params)

    wanted, used = grads(), []
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    monkeypatch.setattr(module, "kernel", lambda *g: (used.append("act"), module.plain(*g))[1])
    monkeypatch.setattr(
        module, "gradient_kernel", lambda *g: (used.append("grad"), module.plain_gradient(*g))[1]
    )
    hopper.log_choice.cache_clear()
    with caplog.at_level(logging.INFO):
        got = grads()
    assert used == ["act", "grad"]
    assert "activation of 16×1024: a kernel for Hopper GPUs" in caplog.text
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(
            a.astype(jnp.float32), b.astype(jnp.float32), atol=0.05 * float(jnp.abs(b).max())
        ),
        got,
        wanted,
    )


@pytest.mark.parametrize("act", [gelu, gelu_tanh, quick_gelu])
def test_kernels_are_lowered_for_a_gpu(act) -> None:
    rows, bias = (jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((32, 3072), (3072,)))
    for function, given in (
        (module.kernel, (rows, bias)),
        (module.gradient_kernel, (rows, bias, rows)),
    ):
        traced = jax.jit(partial(function, act)).trace(*given)
        assert "mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize(
    ("shape", "dtype", "act", "has"),
    [
        ((32, 3072), jnp.bfloat16, gelu_tanh, True),
        ((32, 3072), jnp.bfloat16, gelu, True),
        ((32, 3072), jnp.bfloat16, silu, False),
        ((32, 3072), jnp.float32, gelu_tanh, False),
        ((33, 3072), jnp.bfloat16, gelu_tanh, False),
        ((32, 3000), jnp.bfloat16, gelu_tanh, False),
        ((2, 16, 3072), jnp.bfloat16, gelu_tanh, False),
    ],
)
def test_other_sizes_types_and_activations_have_no_kernel(
    shape, dtype, act, has, monkeypatch
) -> None:
    assert not module.has_kernel(shape, dtype, act)  # not here
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    assert module.has_kernel(shape, dtype, act) == has


def test_under_vmap_the_twin_runs() -> None:
    call = hopper.with_twin(lambda x, y: (x - y, x), lambda x, y: (x + y, x))
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.ones(3)
    np.testing.assert_array_equal(call(x, y)[0], x - 1)
    got = jax.vmap(call, in_axes=(0, None))(x, y)
    np.testing.assert_array_equal(got[0], x + 1)
    np.testing.assert_array_equal(got[1], x)
