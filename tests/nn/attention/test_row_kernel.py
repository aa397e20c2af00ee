"""Attention of one new place: against float64, and that its kernel can be made for a GPU."""

from __future__ import annotations

import importlib
import logging
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.nn import hopper

module: Any = importlib.import_module("barrow.nn.attention.row_kernel")
SCALE = 0.1
# batch, heads, kv_heads, head_dim, capacity, lengths, is rotated
CASES = [
    (1, 4, 4, 64, 256, [130], False),
    (1, 2, 2, 128, 192, [191], True),
    (2, 4, 2, 64, 24, [0, 17], True),
]


def made(case: Any, dtype: Any) -> tuple[list[Any], list[np.ndarray]]:
    """Arguments, and what is expected, in float64."""
    batch, heads, kv_heads, dim, capacity, lengths, is_rotated = case
    random = np.random.default_rng(0)
    shapes = [(batch, num, dim) for num in (heads, kv_heads, kv_heads)]
    shapes += [(batch, kv_heads, capacity, dim)] * 2
    arrays = [jnp.asarray(random.normal(size=shape), dtype) for shape in shapes]
    angles = np.asarray(lengths)[:, None] * 10_000.0 ** (-np.arange(0, dim, 2) / dim)
    turn = (np.cos(angles), np.sin(angles))
    q, k, v, keys, values = (np.array(x, np.float64) for x in arrays)
    if is_rotated:
        whole = (turn[0] + 1j * turn[1])[:, None]

        def turned(x: np.ndarray) -> np.ndarray:
            low, high = np.split(x, 2, axis=-1)
            both = (low + 1j * high) * whole
            rounded = jnp.asarray(np.concatenate([both.real, both.imag], axis=-1), dtype)
            return np.asarray(rounded, np.float64)

        q, k = turned(q), turned(k)
    out = np.zeros_like(q)
    for row, length in enumerate(lengths):
        keys[row, :, length], values[row, :, length] = k[row], v[row]
        for head in range(heads):
            of = head // (heads // kv_heads)
            scores = SCALE * keys[row, of, : length + 1] @ q[row, head]
            weights = np.exp(scores - scores.max())
            out[row, head] = weights / weights.sum() @ values[row, of, : length + 1]
    given = [*arrays, jnp.asarray(lengths, jnp.int32)]
    given.append(tuple(jnp.asarray(x, jnp.float32) for x in turn) if is_rotated else None)
    return given, [out, keys, values]


def close(got: Any, wanted: list[np.ndarray], atol: float) -> None:
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(ours, np.float64), theirs, atol=atol)


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_gives_the_numbers_of_float64(case: Any, without_hardware: Any) -> None:
    given, wanted = made(case, jnp.bfloat16)
    close(module._kernel(*given, scale=SCALE, interpret=without_hardware), wanted, 0.01)


@pytest.mark.parametrize("case", CASES)
def test_and_so_does_plain_jax(case: Any) -> None:
    given, wanted = made(case, jnp.float32)
    run = jax.jit(partial(module.append_and_attend, scale=SCALE))
    close(run(*given), wanted, 1e-5)


@pytest.mark.parametrize("case", CASES)
def test_the_kernel_is_lowered_for_a_gpu_and_writes_in_place(case: Any) -> None:
    given, _ = made(case, jnp.bfloat16)
    run = jax.jit(partial(module._kernel, scale=SCALE))
    text = run.trace(*given).lower(lowering_platforms=("cuda",)).as_text()
    assert "mosaic_gpu" in text
    assert text.count("#stablehlo.output_operand_alias") == 2


def test_where_there_is_a_kernel(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fitting = (1, 4, 256, 64)
    assert not module.has_kernel(fitting, jnp.bfloat16)
    monkeypatch.setattr(module, "is_hopper", lambda: True)
    assert module.has_kernel(fitting, jnp.bfloat16)
    assert not module.has_kernel(fitting, jnp.float32)
    assert not module.has_kernel((1, 4, 256, 80), jnp.bfloat16)
    assert not module.has_kernel((1, 4, 100, 64), jnp.bfloat16)
    assert not module.has_kernel((1, 4, 8192, 64), jnp.bfloat16)
    given, wanted = made(CASES[0], jnp.float32)
    hopper.log_choice.cache_clear()
    with caplog.at_level(logging.INFO):
        module.append_and_attend(*given, scale=SCALE)
    assert "attention of one place of 1×4×256×64: plain JAX" in caplog.text
    monkeypatch.setattr(module, "has_kernel", lambda *_: True)
    monkeypatch.setattr(module, "_kernel", module.plain)
    close(module.append_and_attend(*given, scale=SCALE), wanted, 1e-5)


def test_batched_it_is_plain_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    given, wanted = made(CASES[0], jnp.float32)
    monkeypatch.setattr(module, "has_kernel", lambda *_: True)
    call = jax.vmap(lambda q: module.append_and_attend(q, *given[1:], scale=SCALE)[0])
    got = call(jnp.stack([given[0], given[0]]))
    for ours in got:
        np.testing.assert_allclose(ours, wanted[0], atol=1e-5)
