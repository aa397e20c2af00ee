"""The kernel for pages: here without its hardware, and that it can be made for a GPU."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import mosaic_gpu as gpu

from barrow.nn import hopper
from barrow.nn.attention.paged import Paged, Pages, Rows
from barrow.nn.attention.paged_kernel import attend_pages, has_kernel

PAGE = 64


def drawn(rows: int, queries: int, heads: int, kv_heads: int, dim: int, starts: Any) -> list[Any]:
    """Queries, pages of keys and of values, tables of 5 pages, starts."""
    rng = np.random.default_rng(0)
    pages = [rng.normal(size=(rows * 5, kv_heads, PAGE, dim)) for _ in range(2)]
    q = rng.normal(size=(rows, queries, heads, dim))
    made = [jnp.asarray(x, jnp.bfloat16) for x in (q, *pages)]
    tables = rng.permutation(rows * 5).reshape(rows, 5)
    return [*made, jnp.asarray(tables, jnp.int32), jnp.asarray(starts, jnp.int32)]


@pytest.fixture
def without_hardware(monkeypatch: pytest.MonkeyPatch, interpreter: Any) -> Any:
    """The interpreter, with plain products in place of the tensor cores; layouts mean nothing."""

    def wgmma(sums: Any, a: Any, b: Any) -> None:
        *others, last = b.transforms
        is_turned = type(last).__name__ == "TransposeTransform"
        b = replace(b, transforms=tuple(others))[...].T if is_turned else b[...]
        sums[...] = jnp.dot(a[...], b, preferred_element_type=jnp.float32)

    monkeypatch.setattr(gpu, "wgmma", wgmma)
    monkeypatch.setattr(gpu, "WGMMAAccumulatorRef", lambda shape, dtype: gpu.SMEM(shape, dtype))
    monkeypatch.setattr(gpu, "layout_cast", lambda x, layout: x)
    iota = jax.lax.broadcasted_iota
    monkeypatch.setattr(gpu, "broadcasted_iota", lambda *given, layout: iota(*given))
    return interpreter


@pytest.mark.parametrize(
    ("shape", "starts", "nums", "window"),
    [
        ((4, 1, 4, 2, 128), [0, 63, 64, 300], [1, 1, 0, 1], None),
        ((3, 1, 2, 2, 64), [63, 128, 300], [1, 1, 1], 70),
        ((2, PAGE, 2, 1, 64), [0, 192], [64, 37], 50),
    ],
)
def test_as_the_plain_form(
    shape: Any, starts: list[int], nums: list[int], window: int | None, without_hardware: Any
) -> None:
    q, keys, values, tables, first = drawn(*shape, starts)
    lengths = first + jnp.asarray(nums)
    kernel = partial(attend_pages, scale=0.2, window=window, interpret=without_hardware)
    found = jax.jit(kernel)(q, keys, values, tables, first, lengths)
    rows = Rows(tables, first, jnp.asarray(nums), shape[0] if shape[1] == 1 else 0)
    plain = Paged(Pages(keys), Pages(values), rows)
    flat = q.reshape(1, -1, *q.shape[2:])
    attend = jax.jit(lambda plain, flat: plain.attend(flat, scale=0.2, window=window))
    expected = attend(plain, flat).reshape(q.shape)
    for row, num in enumerate(nums):
        got, wanted = (np.asarray(x, np.float32)[row, :num] for x in (found, expected))
        np.testing.assert_allclose(got, wanted, atol=0.01)
    assert np.isfinite(np.asarray(found, np.float32)).all()


@pytest.mark.parametrize(("queries", "dim", "window"), [(1, 128, None), (PAGE, 64, 100)])
def test_it_is_lowered_for_a_gpu(queries: int, dim: int, window: int | None) -> None:
    given = drawn(2, queries, 4, 2, dim, [0, 64])
    run = jax.jit(partial(attend_pages, scale=0.1, window=window))
    lowered = run.trace(*given, given[-1] + 1).lower(lowering_platforms=("cuda",))
    assert "mosaic_gpu" in lowered.as_text()


def test_where_there_is_a_kernel(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Hopper:
        compute_capability = "9.0"

    fitting = (PAGE, 4, 128, jnp.bfloat16)
    assert not has_kernel(*fitting)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "device_count", lambda: 1)
    monkeypatch.setattr(jax, "local_devices", lambda: [Hopper()])
    hopper.log_choice.cache_clear()
    with caplog.at_level(logging.INFO):
        assert has_kernel(*fitting)
        assert not has_kernel(16, *fitting[1:])
    kernel, plain = (one.getMessage() for one in caplog.records)
    assert kernel == "attention to pages of 64×4×128: a kernel for Hopper GPUs"
    assert plain == "attention to pages of 16×4×128: plain JAX"
    assert not has_kernel(PAGE, 65, *fitting[2:])
    assert not has_kernel(PAGE, 4, 80, jnp.bfloat16)
    assert not has_kernel(*fitting[:3], jnp.float32)
