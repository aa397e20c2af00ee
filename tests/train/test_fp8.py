"""Products in fp8 (ACCELERATE-9), beside the same by ml_dtypes in NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from barrow import nn
from barrow.train.fp8 import PAYS_FROM, Fp8Kernel, warn_if_slower

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 5, 8)).astype(np.float32)


def rounded(x, kind):
    scale = 2.0 ** np.ceil(np.log2(np.abs(x).max() / float(ml_dtypes.finfo(kind).max)))
    return (x / scale).astype(kind).astype(np.float32) * scale


@pytest.mark.parametrize("transposed", [False, True])
def test_value_and_gradients(transposed) -> None:
    w = RNG.normal(size=(6, 8) if transposed else (8, 6)).astype(np.float32)
    y, pull = jax.vjp(lambda x, w: nn.dot(x, Fp8Kernel(w), transposed=transposed), X, w)
    toward = RNG.normal(size=y.shape).astype(np.float32)
    of_x, of_w = pull(jnp.asarray(toward))
    small_x, small_w = rounded(X, ml_dtypes.float8_e4m3fn), rounded(w, ml_dtypes.float8_e4m3fn)
    small = rounded(toward, ml_dtypes.float8_e5m2)
    matrix = small_w.T if transposed else small_w
    np.testing.assert_allclose(y, small_x @ matrix, atol=1e-4)
    np.testing.assert_allclose(of_x, small @ matrix.T, atol=1e-4)
    wanted = np.einsum("abi,abo->io", small_x, small)
    np.testing.assert_allclose(of_w, wanted.T if transposed else wanted, atol=1e-4)


def test_several_dimensions_as_dense_has_them() -> None:
    w = RNG.normal(size=(8, 2, 3)).astype(np.float32)
    flat = nn.dot(X, Fp8Kernel(w.reshape(8, 6)))
    np.testing.assert_array_equal(nn.dot(X, Fp8Kernel(w)), flat.reshape(3, 5, 2, 3))
    back = RNG.normal(size=(2, 3, 8)).astype(np.float32)
    y = RNG.normal(size=(4, 2, 3)).astype(np.float32)
    wanted = nn.dot(y.reshape(4, 6), Fp8Kernel(back.reshape(6, 8)))
    np.testing.assert_array_equal(nn.dot(y, Fp8Kernel(back), num=2), wanted)


def test_zeros_stay_zeros() -> None:
    zeros = jnp.zeros((2, 8))
    assert float(jnp.abs(nn.dot(zeros, Fp8Kernel(jnp.zeros((8, 3))))).max()) == 0


def test_bfloat16_products_round_once() -> None:
    """Sums of products of 8-bit numbers are exact here, and so are scales."""
    x, w = (
        np.asarray(RNG.normal(size=size) * 3).astype(ml_dtypes.bfloat16)
        for size in ((5, 8), (8, 6))
    )
    exact = rounded(x.astype(np.float64), ml_dtypes.float8_e4m3fn) @ rounded(
        w.astype(np.float64), ml_dtypes.float8_e4m3fn
    )
    y = np.asarray(nn.dot(jnp.asarray(x), Fp8Kernel(jnp.asarray(w))))
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y, exact.astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("size", [1e-30, 1e-3, 448.0, 512.0, 1e30])
def test_numbers_of_any_size_keep_three_bits(size) -> None:
    w = np.eye(8, dtype=np.float32)
    x = (X * size / np.abs(X).max()).astype(np.float32)
    y = np.asarray(nn.dot(x, Fp8Kernel(w)))
    large = np.abs(x) > size / 100
    np.testing.assert_allclose(y[large], x[large], rtol=2**-4)


def test_what_is_not_finite_is_seen() -> None:
    y = nn.dot(jnp.asarray(X).at[0, 0, 0].set(jnp.inf), Fp8Kernel(jnp.ones((8, 6))))
    assert not np.isfinite(np.asarray(y[0, 0])).all()


def test_numbers_too_small_for_a_scale_are_zeros() -> None:
    y = nn.dot(jnp.full((2, 8), 1e-37, jnp.float32), Fp8Kernel(jnp.ones((8, 3))))
    np.testing.assert_array_equal(y, np.zeros((2, 3), np.float32))


def test_a_narrow_model_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="fp8 pays from a width of 2,048 on, got 768: bf16"):
        warn_if_slower(768)
    warn_if_slower(PAYS_FROM)
