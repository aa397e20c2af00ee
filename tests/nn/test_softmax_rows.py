"""Softmax of long rows: the plain form, and the kernel in an interpreter (FLAX-2)."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from barrow.nn.softmax_rows import has_kernel, softmax_kernel, softmax_rows


def test_plain_form_is_that_of_float64() -> None:
    random = np.random.default_rng(0)
    x, weight = random.normal(size=(5, 256)) * 4, random.uniform(size=5)
    got, norm = softmax_rows(jnp.asarray(x, jnp.float32), jnp.asarray(weight, jnp.float32), 200)
    wanted = scipy.special.softmax(x[:, :200], axis=1) * weight[:, None]
    np.testing.assert_allclose(got[:, :200], wanted, rtol=1e-5)
    assert (got[:, 200:] == 0).all()
    np.testing.assert_allclose(norm, scipy.special.logsumexp(x[:, :200], axis=1), rtol=1e-6)


@pytest.mark.parametrize(("columns", "num"), [(50304, 50257), (32000, 32000), (2048, 2047)])
def test_kernel_is_lowered_for_a_gpu(columns: int, num: int) -> None:
    given = jax.ShapeDtypeStruct((16, columns), jnp.bfloat16), jax.ShapeDtypeStruct((16,), "f4")
    traced = jax.jit(softmax_kernel, static_argnums=2).trace(*given, num)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "mosaic_gpu" in text
    assert "output_operand_alias<output_tuple_indices = [1], operand_index = 0" in text


@pytest.mark.parametrize(("columns", "num"), [(2304, 2304), (4352, 4200)])
def test_kernel_is_that_of_float64(columns: int, num: int, without_hardware: Any) -> None:
    random = np.random.default_rng(0)
    x = jnp.asarray(random.normal(size=(3, columns)) * 4, jnp.bfloat16)
    weight = jnp.asarray(random.uniform(size=3), jnp.float32)
    run = jax.jit(partial(softmax_kernel, num=num, interpret=without_hardware))
    got, norm = run(x, weight)
    wide = np.asarray(x, np.float64)[:, :num]
    wanted = scipy.special.softmax(wide, axis=1) * np.asarray(weight, np.float64)[:, None]
    np.testing.assert_allclose(got[:, :num].astype("f4"), wanted, rtol=5e-3, atol=1e-30)
    assert (got[:, num:] == 0).all()
    np.testing.assert_allclose(norm, scipy.special.logsumexp(wide, axis=1), rtol=1e-6)


def test_other_hardware_has_no_kernel() -> None:
    assert not has_kernel((16, 50304), jnp.bfloat16)


@pytest.mark.parametrize(
    ("shape", "dtype", "has"),
    [
        ((16, 50304), jnp.bfloat16, True),
        ((16, 50257), jnp.bfloat16, False),
        ((16, 50304), jnp.float32, False),
        ((16, 128256), jnp.bfloat16, False),
        ((16, 128), jnp.bfloat16, False),
    ],
)
def test_kernel_is_for_rows_that_fit_on_the_chip(
    shape: tuple[int, int], dtype: object, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hopper:
        compute_capability = "9.0"

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "device_count", lambda: 1)
    monkeypatch.setattr(jax, "local_devices", lambda: [Hopper()])
    assert has_kernel(shape, dtype) == has
    monkeypatch.setattr(jax, "device_count", lambda: 2)
    assert not has_kernel(shape, dtype)
