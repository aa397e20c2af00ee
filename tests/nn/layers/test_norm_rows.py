"""The norm with a gradient of its own, against float64 (FLAX-2)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from barrow import nn
from barrow.nn.layers import norm_rows as module
from barrow.nn.layers.norm_rows import norm_beside, norm_rows


def _both(given: list[Any], above: jax.Array) -> Any:
    y, back = jax.vjp(lambda *p: norm_rows(*p, 1e-5), *given)
    return y, back(above)


@pytest.mark.parametrize("has_scale", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
def test_values_and_gradients_are_those_of_pytorch_in_float64(
    has_scale: bool, has_bias: bool
) -> None:
    random = np.random.default_rng(0)
    x, above = (random.normal(size=(37, 24)) * 3 + 5 for _ in range(2))
    params = [random.normal(size=24) if has else None for has in (has_scale, has_bias)]
    wide = [None if a is None else torch.tensor(a, requires_grad=True) for a in (x, *params)]
    wanted = torch.nn.functional.layer_norm(wide[0], (24,), wide[1], wide[2], eps=1e-5)
    wanted.backward(torch.tensor(above))
    given = [None if a is None else jnp.asarray(a, jnp.float32) for a in (x, *params)]
    got, grads = jax.jit(_both)(given, jnp.asarray(above, jnp.float32))
    np.testing.assert_allclose(got, wanted.detach(), atol=1e-5)
    for ours, theirs in zip(grads, wide, strict=True):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs.grad, atol=2e-4, rtol=1e-4)


def test_bfloat16_keeps_its_type_and_float32_sums() -> None:
    x = jnp.asarray(np.random.default_rng(1).normal(size=(4096, 8)), jnp.bfloat16)
    scale = jnp.ones(8, jnp.bfloat16)
    y, (of_x, of_scale, of_bias) = jax.jit(_both)([x, scale, scale], jnp.ones_like(x))
    assert {a.dtype for a in (y, of_x, of_scale, of_bias)} == {jnp.dtype(jnp.bfloat16)}
    assert of_bias.tolist() == [4096] * 8


def test_layers_on_a_gpu_give_the_numbers_of_other_hardware(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass(frozen=True)
    class Both(nn.Module):
        def forward(self, scope: nn.Scope, ids: jax.Array) -> jax.Array:
            x = nn.Embed(30, 8)(scope / "embed", ids)
            return nn.LayerNorm()(scope / "norm", x)

    ids = jnp.asarray(np.random.default_rng(2).integers(0, 30, (4, 50)), jnp.int32)
    params = Both().init(jax.random.key(0), ids)

    def found() -> Any:
        loss = jax.value_and_grad(lambda p: (Both().apply(p, ids) ** 2).sum())
        lowered = jax.jit(loss).lower(params)
        return lowered.as_text(), lowered.compile()(params)

    plain, wanted = found()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    other, got = found()
    counts = [text.count("stablehlo.sort") for text in (plain, other)]
    assert counts == [0, 1]  # in the gradient of the embedding
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), got, wanted)


@pytest.mark.parametrize("is_kernel", [True, False])
def test_a_residual_beside_the_norm_has_its_gradient_added(
    is_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, but for the kernel itself: its plain twin takes its place."""
    used: list[int] = []
    if is_kernel:
        monkeypatch.setattr(module, "has_kernel", lambda *_: True)
        plain = module.plain_gradient
        monkeypatch.setattr(
            module, "gradient_kernel", lambda *g: (used.append(len(g)), plain(*g))[1]
        )
    random = np.random.default_rng(0)
    x, above, beside = (random.normal(size=(32, 24)) * 3 + 5 for _ in range(3))
    params = [random.normal(size=24) for _ in range(2)]
    wide = [torch.tensor(a, requires_grad=True) for a in (x, *params)]
    wanted = torch.nn.functional.layer_norm(wide[0], (24,), wide[1], wide[2], eps=1e-5)
    ((wanted * torch.tensor(above)).sum() + (wide[0] * torch.tensor(beside)).sum()).backward()
    given = [jnp.asarray(a, jnp.float32) for a in (x, *params)]
    (same, got), back = jax.vjp(lambda *p: norm_beside(*p, 1e-5), *given)
    np.testing.assert_array_equal(same, given[0])
    np.testing.assert_allclose(got, wanted.detach(), atol=1e-5)
    grads = back((jnp.asarray(beside, jnp.float32), jnp.asarray(above, jnp.float32)))
    for ours, theirs in zip(grads, wide, strict=True):
        np.testing.assert_allclose(ours, theirs.grad, atol=2e-4, rtol=1e-4)
    assert used == ([6] if is_kernel else [])


@pytest.mark.parametrize("width", [768, 1024, 2048])
@pytest.mark.parametrize("num", [0, 1])
def test_kernel_is_lowered_for_a_gpu(width: int, num: int) -> None:
    rows, row = (jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((32, width), (width,)))
    one = jax.ShapeDtypeStruct((32, 1), jnp.float32)
    traced = jax.jit(module.gradient_kernel).trace(rows, one, one, row, rows, *[rows] * num)
    assert "mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize(
    ("shape", "dtype", "has"),
    [
        ((32, 768), jnp.bfloat16, True),
        ((32, 768), jnp.float32, False),
        ((33, 768), jnp.bfloat16, False),
        ((32, 700), jnp.bfloat16, False),
        ((32, 4096), jnp.bfloat16, False),
    ],
)
def test_kernel_is_for_some_sizes_and_types(
    shape: tuple[int, int], dtype: Any, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not module.has_kernel(shape, dtype)  # not here
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    assert module.has_kernel(shape, dtype) == has
