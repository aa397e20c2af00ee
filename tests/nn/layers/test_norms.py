"""LayerNorm, RMSNorm, GroupNorm (FLAX-9)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn

BOTH = {"scale": ("weight", np.asarray), "bias": ("bias", np.asarray)}
SCALE = {"scale": ("weight", np.asarray)}


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 4, 8)])
def test_layer_norm_as_torch(same_as_torch, normal, shape) -> None:
    x = 3 * normal(*shape) + 2
    same_as_torch(nn.LayerNorm(), ("LayerNorm", (8,), {}), x, BOTH)
    same_as_torch(nn.LayerNorm(eps=1e-2), ("LayerNorm", (8,), {"eps": 1e-2}), x, BOTH)
    same_as_torch(nn.LayerNorm(bias=False), ("LayerNorm", (8,), {"bias": False}), x, SCALE)
    plain = ("LayerNorm", (8,), {"elementwise_affine": False})
    same_as_torch(nn.LayerNorm(scale=False, bias=False), plain, x, {})


def test_layer_norm_over_several_dimensions(same_as_torch, normal) -> None:
    x = normal(2, 3, 4)
    same_as_torch(nn.LayerNorm(axes=(None, "embed")), ("LayerNorm", ((3, 4),), {}), x, BOTH)


@pytest.mark.parametrize("shape", [(8,), (2, 3, 8)])
def test_rms_norm_as_torch(same_as_torch, normal, shape) -> None:
    same_as_torch(nn.RMSNorm(), ("RMSNorm", (8,), {"eps": 1e-6}), normal(*shape), SCALE)
    same_as_torch(nn.RMSNorm(eps=0.1), ("RMSNorm", (8,), {"eps": 0.1}), normal(*shape), SCALE)
    plain = ("RMSNorm", (8,), {"eps": 1e-6, "elementwise_affine": False})
    same_as_torch(nn.RMSNorm(scale=False), plain, normal(*shape), {})


@pytest.mark.parametrize(("shape", "groups"), [((4, 6), 3), ((2, 5, 6), 2), ((2, 3, 4, 6), 6)])
def test_group_norm_as_torch(same_as_torch, normal, shape, groups) -> None:
    def to(x):
        return np.moveaxis(x, -1, 1)

    theirs = ("GroupNorm", (groups, 6), {})
    x = 2 * normal(*shape) - 1
    back = lambda y: np.moveaxis(y, 1, -1)  # noqa: E731
    same_as_torch(nn.GroupNorm(groups), theirs, x, BOTH, to=to, back=back)


@pytest.mark.parametrize("norm", [nn.LayerNorm(), nn.RMSNorm(), nn.GroupNorm(4)])
def test_statistics_are_float32_and_the_type_is_that_of_x(norm, normal) -> None:
    # In bfloat16 itself the mean of 4,096 numbers near 1 would be off by whole per cents.
    x = jnp.asarray(normal(2, 4096) + 1, jnp.bfloat16)
    params = norm.init(jax.random.key(0), x)
    y = norm.apply(params, x)
    assert y.dtype == jnp.bfloat16
    exact = norm.apply(params, x.astype(jnp.float32))
    np.testing.assert_allclose(y.astype(jnp.float32), exact, rtol=2**-8, atol=1e-6)


def test_a_large_mean_does_not_cancel(normal) -> None:
    x = normal(3, 64) + 1e4
    wanted = (x.astype(np.float64) - x.mean(-1, keepdims=True, dtype=np.float64)) / x.astype(
        np.float64
    ).std(-1, keepdims=True)
    ours = nn.LayerNorm(scale=False, bias=False).apply({}, jnp.asarray(x))
    np.testing.assert_allclose(ours, wanted, atol=2e-3)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"a multiple of 4, got \(2, 6\)"):
        nn.GroupNorm(4).init(jax.random.key(0), jnp.ones((2, 6)))
    with pytest.raises(ValueError, match=r"x has shape \(6,\), the norm is over 2"):
        nn.LayerNorm(axes=(None, "embed")).init(jax.random.key(0), jnp.ones(6))
