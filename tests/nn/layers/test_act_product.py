"""A product that ends in its activation (FLAX-2)."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn import hopper
from barrow.nn.layers import act_product as module
from barrow.nn.layers import act_rows
from barrow.nn.layers.activations import gelu, quick_gelu


@golden("torch")
def by_torch(given: list[Any], above: Any) -> Any:
    """The activation of a product with a bias, and its gradients."""
    import torch

    wide = [torch.tensor(a, requires_grad=True) for a in given]
    y = wide[0] @ wide[1] + wide[2]
    y = y * torch.sigmoid(1.702 * y)
    y.backward(torch.tensor(above))
    return y, [a.grad for a in wide]


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As on a Hopper GPU, but for the kernels: their twins take their place. Which of them ran."""
    used: list[str] = []

    def put(place: Any, name: str, twin: Any, what: str) -> None:
        monkeypatch.setattr(place, name, lambda *given: (used.append(what), twin(*given))[1])

    put(module, "kernel", module.plain, "whole")
    put(act_rows, "kernel", act_rows.plain, "activation")
    put(act_rows, "gradient_kernel", act_rows.plain_gradient, "gradient")
    for place in (module, act_rows):
        monkeypatch.setattr(place, "is_hopper", lambda: True)
    monkeypatch.setattr(module, "_LEAST", 256)
    return used


def test_values_and_gradients_are_those_of_pytorch_in_float64(twins: list[str]) -> None:
    random = np.random.default_rng(0)
    given = [random.normal(size=shape) for shape in ((32, 20), (20, 40), (40,))]
    above = random.normal(size=(32, 40))
    wanted, gradients = by_torch(given, above)
    ours = [jnp.asarray(a, jnp.float32) for a in given]
    alone = module.act_product(*ours, quick_gelu)
    assert twins == ["whole"]
    got, back = jax.vjp(lambda *p: module.act_product(*p, quick_gelu), *ours)
    grads = back(jnp.asarray(above, jnp.float32))
    assert twins == ["whole", "activation", "gradient"]
    for found in (alone, got):
        np.testing.assert_allclose(found, wanted, atol=1e-4)
    for found, theirs in zip(grads, gradients, strict=True):
        np.testing.assert_allclose(found, theirs, atol=1e-3)


def test_an_mlp_uses_it_without_a_gradient(
    twins: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlp = nn.MLP(1024, activation="quick_gelu")
    x = jnp.asarray(np.random.default_rng(1).normal(size=(2, 128, 256)), jnp.bfloat16)
    params = mlp.init(jax.random.key(0), x)
    hopper.log_choice.cache_clear()
    with caplog.at_level(logging.INFO):
        got = mlp.apply(params, x)
    assert twins == ["whole"]
    assert "product with its activation of 256×256×1024: a kernel for Hopper" in caplog.text
    grads = jax.grad(lambda p: mlp.apply(p, x).astype(jnp.float32).sum())(params)
    assert twins == ["whole", "activation", "gradient"]
    monkeypatch.setattr(module, "is_hopper", lambda: False)
    monkeypatch.setattr(act_rows, "is_hopper", lambda: False)
    wanted = mlp.apply(params, x)
    np.testing.assert_allclose(got.astype(jnp.float32), wanted.astype(jnp.float32), atol=0.05)
    plain = jax.grad(lambda p: mlp.apply(p, x).astype(jnp.float32).sum())(params)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=0.05 * float(jnp.abs(b).max())),
        grads,
        plain,
    )


def test_it_is_lowered_for_a_gpu() -> None:
    given = [jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((512, 768), (768, 256), (256,))]
    traced = jax.jit(partial(module.kernel, quick_gelu)).trace(*given)
    assert "mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "act", "has"),
    [
        (8192, 3072, jnp.bfloat16, quick_gelu, True),
        (8192, 3072, jnp.bfloat16, gelu, False),
        (8192, 3072, jnp.float32, quick_gelu, False),
        (4096, 3072, jnp.bfloat16, quick_gelu, False),
        (8192 + 128, 3072, jnp.bfloat16, quick_gelu, False),
        (8192, 3000, jnp.bfloat16, quick_gelu, False),
    ],
)
def test_other_sizes_types_and_activations_fall_back(
    rows: int, columns: int, dtype: Any, act: Any, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight = jnp.zeros((rows, 768), dtype), jnp.zeros((768, columns), dtype)
    assert not module.has_kernel(x, weight, act)  # not here
    for place in (module, act_rows):
        monkeypatch.setattr(place, "is_hopper", lambda: True)
    assert module.has_kernel(x, weight, act) == has
    assert not module.has_kernel(x, object(), act)
