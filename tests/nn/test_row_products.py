"""Products of a few rows: against float64, and that the kernels can be made for a GPU (FLAX-2)."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.state.types import TransformedRef
from jax.experimental.pallas import mosaic_gpu as gpu

from barrow.nn import hopper
from barrow.nn import row_products as module
from barrow.nn.layers.activations import gelu_tanh, silu
from barrow.nn.row_products import Around, Held, Norm, expanded, has_kernel, plain, row_products

WIDTH = 256


def drawn(random: np.random.Generator, *shape: int) -> jax.Array:
    return jnp.asarray(random.normal(size=shape), jnp.bfloat16)


def weight(random: np.random.Generator, bits: int, outputs: int) -> tuple[Held, np.ndarray]:
    """In so many bits, and as numbers."""
    if bits == 16:
        values = drawn(random, outputs, WIDTH)
        return Held(values), np.asarray(values, np.float64)
    if bits == 8:
        numbers = random.integers(-127, 128, (outputs, WIDTH))
        scales = random.uniform(size=outputs).astype(np.float32)
        held = Held(jnp.asarray(numbers, jnp.int8), jnp.asarray(scales))
        return held, numbers * scales[:, None].astype(np.float64)
    numbers = random.integers(0, 16, (outputs, WIDTH))
    scales = random.uniform(size=(WIDTH // 64, outputs)).astype(np.float16)
    words = np.zeros((outputs, WIDTH // 8), np.uint32)
    for place in range(WIDTH):
        pair, odd = divmod(place % 8, 2)
        words[:, place // 8] |= numbers[:, place].astype(np.uint32) << 4 * pair + 16 * odd
    held = Held(jnp.asarray(words), jnp.asarray(scales))
    return held, (numbers - 8) * np.repeat(scales.T.astype(np.float64), 64, axis=1)


CASES: dict[str, tuple[int, list[int], bool, bool, Any, bool]] = {
    # rows, outputs, is centred, has a residual, activation, is gated
    "queries, keys, values": (1, [64, 32, 40], True, False, None, False),
    "back to the residual": (3, [64], False, True, None, False),
    "gelu": (2, [96], True, False, gelu_tanh, False),
    "gated": (1, [96, 96], False, False, silu, True),
    "outputs that no tile divides": (1, [77], False, False, None, False),
}


# How a weight is held and what is around its product are apart: two of these with all weights.
every_case = pytest.mark.parametrize(
    ("bits", "name"),
    [
        pytest.param(
            bits,
            name,
            marks=[]
            if bits == 4 or name in ("queries, keys, values", "gated")
            else [pytest.mark.soak],
        )
        for name in CASES
        for bits in (16, 8, 4)
    ],
)


def made(bits: int, name: str) -> tuple[Any, Any, list[np.ndarray]]:
    """Arguments of the products, how, and what is expected."""
    rows, outputs, is_centred, has_residual, act, is_gated = CASES[name]
    random = np.random.default_rng(bits)
    held, wide = zip(*(weight(random, bits, num) for num in outputs), strict=True)
    x = drawn(random, rows, WIDTH)
    has_bias = not is_gated
    around = Around(
        None
        if has_residual
        else Norm(
            drawn(random, WIDTH), drawn(random, WIDTH) if is_centred else None, 1e-5, is_centred
        ),
        tuple(drawn(random, num) for num in outputs) if has_bias else (),
        drawn(random, rows, outputs[0]) if has_residual else None,
    )
    y = np.asarray(x, np.float64)
    if (norm := around.norm) is not None:
        y = y - y.mean(axis=-1, keepdims=True) if is_centred else y
        y = y / np.sqrt((y * y).mean(axis=-1, keepdims=True) + 1e-5)
        y = y * np.asarray(norm.scale, np.float64)
        y = y if norm.bias is None else y + np.asarray(norm.bias, np.float64)
    found = [y @ w.T for w in wide]
    found = (
        [z + np.asarray(b, np.float64) for z, b in zip(found, around.biases, strict=True)]
        if (has_bias)
        else found
    )
    if act is not None:
        found[0] = np.asarray(act(jnp.asarray(found[0], jnp.float32)), np.float64)
    found = [found[0] * found[1]] if is_gated else found
    if has_residual:
        found = [z + np.asarray(around.residual, np.float64) for z in found]
    return (x, held, around), {"act": act, "is_gated": is_gated}, found


@pytest.fixture
def without_hardware(monkeypatch: pytest.MonkeyPatch, interpreter: Any) -> Any:
    """The interpreter; layouts mean nothing, and the last of the warps has all inputs.

    What a warp does is tested in `weights/test_fragments.py`.
    """

    def sums(tiles: Any, height: int, xs: list[Any], values: Any, scales: Any = None) -> list[Any]:
        wide, _ = expanded(Held(values, scales), jnp.float32)
        by = 1 if values.dtype == jnp.bfloat16 else 1 / 128
        found = [by * wide @ x.astype(jnp.float32) for x in xs]
        return [jnp.zeros((tiles.ways, height)).at[-1].set(one) for one in found]

    def load(ref: Any, at: tuple[Any, ...], **_: Any) -> Any:
        if not isinstance(ref, TransformedRef):
            return ref[at] if at else ref[...]
        row, part = at  # the interpreter does not know another shape of an array
        return ref.ref[...].reshape(ref.shape)[row, part.start : part.start + part.size]

    monkeypatch.setattr(module, "_sums", sums)
    monkeypatch.setattr(gpu, "layout_cast", lambda x, layout: x)
    monkeypatch.setattr(gpu, "load", load)
    return interpreter


def close(got: Any, wanted: list[np.ndarray]) -> None:
    for ours, theirs in zip(got, wanted, strict=True):
        atol = 0.01 * np.abs(theirs).max()
        np.testing.assert_allclose(np.asarray(ours, np.float64), theirs, atol=atol)


@every_case
def test_kernels_give_the_numbers_of_float64(bits: int, name: str, without_hardware: Any) -> None:
    given, how, wanted = made(bits, name)
    close(jax.jit(partial(module._kernel, **how, interpret=without_hardware))(*given), wanted)


@every_case
def test_and_so_does_plain_jax(bits: int, name: str) -> None:
    (x, held, around), how, wanted = made(bits, name)
    wide, around = jax.tree.map(
        lambda a: a.astype(jnp.float32) if a.dtype == jnp.bfloat16 else a, (x, around)
    )
    close(jax.jit(partial(plain, **how))(wide, held, around), wanted)


@every_case
def test_kernels_are_lowered_for_a_gpu(bits: int, name: str) -> None:
    given, how, _ = made(bits, name)
    run = jax.jit(partial(module._kernel, **how))
    assert "mosaic_gpu" in run.trace(*given).lower(lowering_platforms=("cuda",)).as_text()


def test_more_inputs_than_are_read_at_a_time(
    without_hardware: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOADS", 1)
    for bits in (16, 4):
        given, how, wanted = made(bits, "gelu")
        close(module._kernel(*given, **how, interpret=without_hardware), wanted)


@pytest.mark.parametrize("name", ["queries, keys, values", "gated", "outputs that no tile divides"])
def test_of_many_outputs_a_block_has_twice_as_many(
    name: str, without_hardware: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums, heights = module._sums, []

    def seen(tiles: Any, height: int, *given: Any) -> Any:
        heights.append(height)
        return sums(tiles, height, *given)

    monkeypatch.setattr(module, "_AT_ONCE", 1)
    monkeypatch.setattr(module, "_sums", seen)
    given, how, wanted = made(4, name)
    close(module._kernel(*given, **how, interpret=without_hardware), wanted)
    assert set(heights) == {16}
    monkeypatch.undo()
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    for bits in (8, 4):
        given, how, _ = made(bits, name)
        run = jax.jit(partial(module._kernel, **how))
        assert "mosaic_gpu" in run.trace(*given).lower(lowering_platforms=("cuda",)).as_text()


def test_where_there_is_a_kernel(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = (Held(jnp.zeros((64, WIDTH), jnp.bfloat16)),)
    fitting = (1, WIDTH), jnp.bfloat16
    assert not has_kernel(*fitting, held)
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    assert has_kernel(*fitting, held, silu)
    assert not has_kernel((5, WIDTH), jnp.bfloat16, held)
    assert not has_kernel((1, 200), jnp.bfloat16, held)
    assert has_kernel((1, 65_536), jnp.bfloat16, held)
    assert not has_kernel((4, 65_536), jnp.bfloat16, held)
    assert not has_kernel((1, WIDTH), jnp.float32, held)
    assert not has_kernel(*fitting, held, jnp.tanh)
    assert not has_kernel(*fitting, (Held(jnp.zeros((64, WIDTH))),))
    x = jnp.ones((1, WIDTH), jnp.bfloat16)
    used: list[Any] = []
    monkeypatch.setattr(
        module, "_kernel", lambda *given, **how: (used.append(1), plain(*given, **how))[1]
    )
    hopper.log_choice.cache_clear()
    with caplog.at_level(logging.INFO):
        row_products(x, held)
        row_products(x[:, :128], (Held(held[0].values[:, :128]),), act=jnp.tanh)
    assert len(used) == 1
    assert "product of rows of 1×256×64: a kernel for Hopper GPUs" in caplog.text
    assert "product of rows of 1×128×64: plain JAX" in caplog.text


def test_batched_it_is_plain_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    (x, held, around), how, wanted = made(16, "gelu")
    monkeypatch.setattr(module, "has_kernel", lambda *_: True)
    got = jax.vmap(lambda x: row_products(x, held, around, **how)[0])(jnp.stack([x, 2 * x]))
    close(got, wanted * 2)  # a norm comes first
