"""The norm with a gradient of its own, against float64 (FLAX-2)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn.layers import norm_kernels as kernels
from barrow.nn.layers import norm_rows as module
from barrow.nn.layers.norm_rows import norm_beside, norm_rows


@golden("torch")
def by_torch(kind: str, given: list[Any], above: Any, beside: Any = None) -> Any:
    """A norm and its gradients in float64, with a residual beside it."""
    import torch

    x, *params = wide = [None if a is None else torch.tensor(a, requires_grad=True) for a in given]
    y = getattr(torch.nn.functional, kind)(x, (24,), *params, eps=1e-5)
    total = (y * torch.tensor(above)).sum()
    if beside is not None:
        total = total + (x * torch.tensor(beside)).sum()
    total.backward()
    return y, [None if a is None else a.grad for a in wide]


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
    wanted, gradients = by_torch("layer_norm", [x, *params], above)
    given = [None if a is None else jnp.asarray(a, jnp.float32) for a in (x, *params)]
    got, grads = jax.jit(_both)(given, jnp.asarray(above, jnp.float32))
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    for ours, theirs in zip(grads, gradients, strict=True):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, atol=2e-4, rtol=1e-4)


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
            x = nn.LayerNorm()(scope / "norm", x)
            x, y = nn.RMSNorm()(scope / "rms_norm", x, beside=True)
            return x + y

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


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("is_kernel", [True, False])
def test_a_residual_beside_the_norm_has_its_gradient_added(
    is_kernel: bool, centred: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, but for the kernels themselves: their plain twins take their place."""
    used: list[str] = []

    def noted(name: str, twin: Any) -> Any:
        return lambda *given: (used.append(name), twin(*given))[1]

    if is_kernel:
        monkeypatch.setattr(module, "has_kernel", lambda *_: True)
        monkeypatch.setattr(module, "norm_kernel", noted("norm", module._twin))
        monkeypatch.setattr(module, "gradient_kernel", noted("gradient", module._gradient_twin))
    random = np.random.default_rng(0)
    x, above, beside = (random.normal(size=(32, 24)) * 3 + 5 for _ in range(3))
    params = [random.normal(size=24) for _ in range(1 + centred)]
    kind = "layer_norm" if centred else "rms_norm"
    wanted, gradients = by_torch(kind, [x, *params], above, beside)
    given = [jnp.asarray(a, jnp.float32) for a in (x, *params)] + [None] * (not centred)
    (same, got), back = jax.vjp(lambda *p: norm_beside(*p, 1e-5, centred), *given)
    np.testing.assert_array_equal(same, given[0])
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    grads = back((jnp.asarray(beside, jnp.float32), jnp.asarray(above, jnp.float32)))
    for ours, theirs in zip(grads, gradients, strict=centred):
        np.testing.assert_allclose(ours, theirs, atol=2e-4, rtol=1e-4)
    assert used == (["norm", "gradient"] if is_kernel else [])


@pytest.mark.parametrize(("width", "centred"), [(768, True), (2048, False)])
@pytest.mark.parametrize("num", [0, 1])
def test_kernels_as_their_twins(
    width: int,
    centred: bool,
    num: int,
    without_hardware: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "_BLOCKS", 2)  # of two tiles, or four
    random = np.random.default_rng(0)
    x, above, *beside = (
        jnp.asarray(random.normal(size=(32, width)) + 1, jnp.bfloat16) for _ in range(2 + num)
    )
    scale, bias = (jnp.asarray(random.normal(size=width), jnp.bfloat16) for _ in range(2))
    given = (x, scale, bias) if centred else (x, scale)
    norm = partial(kernels.norm_kernel, 1e-5, centred, interpret=without_hardware)
    y, statistics = jax.jit(norm)(*given)
    wanted, mean, spread = jax.jit(partial(module.plain_norm, 1e-5, centred))(*given)
    np.testing.assert_allclose(y.astype("f4"), wanted.astype("f4"), atol=0.05)
    expected = kernels.packed(mean, spread, width)
    first = 0 if centred else kernels.tile_of(width)
    last = 2 * kernels.tile_of(width)
    np.testing.assert_allclose(
        statistics[:, first:last], expected[:, first:last], rtol=1e-5, atol=1e-5
    )
    gradient = partial(kernels.gradient_kernel, centred, interpret=without_hardware)
    got = jax.jit(gradient)(x, expected, scale, above, *beside)
    plain = jax.jit(partial(module.plain_gradient, centred))
    wanted = plain(x, mean, spread, scale, above, *beside)
    assert len(got) == len(wanted) == (3 if centred else 2)
    for ours, theirs in zip(got, wanted, strict=True):
        largest = float(jnp.abs(theirs).max())
        np.testing.assert_allclose(ours.astype("f4"), theirs.astype("f4"), atol=8e-3 * largest)


@pytest.mark.parametrize(("num", "tiles"), [(4096, 16), (512, 2), (1000, 2), (1021, 1), (8, 1)])
def test_every_tile_has_a_block(num: int, tiles: int) -> None:
    assert kernels._tiles_of(num) == tiles
    assert num % tiles == 0


def test_statistics_are_unpacked_as_packed() -> None:
    mean, spread = (jnp.arange(i, i + 64.0)[:, None] for i in (0, 100))
    for width in (768, 2048):
        again = kernels.unpacked(kernels.packed(mean, spread, width), width)
        np.testing.assert_array_equal(again, (mean, spread))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("width", [768, 1024, 2048])
@pytest.mark.parametrize("num", [0, 1])
def test_kernels_are_lowered_for_a_gpu(width: int, num: int, centred: bool) -> None:
    rows, row = (jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((32, width), (width,)))
    one = jax.ShapeDtypeStruct((32 // kernels.tile_of(width), 32), jnp.float32)
    norm, gradient = (
        jax.jit(partial(kernel, *how))
        for kernel, how in ((kernels.norm_kernel, (1e-5,)), (kernels.gradient_kernel, ()))
        for how in [(*how, centred)]
    )
    for traced in (
        norm.trace(rows, row, *[row] * centred),
        gradient.trace(rows, one, row, rows, *[rows] * num),
    ):
        assert "mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize(
    ("shape", "dtype", "has"),
    [
        ((32, 768), jnp.bfloat16, True),
        ((32, 768), jnp.float32, False),
        ((33, 768), jnp.bfloat16, False),
        ((32, 640), jnp.bfloat16, False),
        ((28, 2048), jnp.bfloat16, True),
        ((28, 768), jnp.bfloat16, False),
        ((32, 4096), jnp.bfloat16, False),
    ],
)
def test_kernel_is_for_some_sizes_and_types(
    shape: tuple[int, int], dtype: Any, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not module.has_kernel(shape, dtype)  # not here
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    assert module.has_kernel(shape, dtype) == has
