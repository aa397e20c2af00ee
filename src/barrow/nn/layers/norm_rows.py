"""The norm of rows, with a gradient written for GPUs.

It keeps x in its own type and two numbers for each row. The gradients of scale and bias are then
sums of what is computed from these on the way: the derivative of the plain formula has XLA write
and read a float32 array of x's size for them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.layers.remat import STATISTICS, named


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def norm_rows(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float
) -> jax.Array:
    """(x − mean) / √(variance + eps) · scale + bias of rows [rows, width]; float32 inside."""
    return _forward(x, scale, bias, eps)[0]


def _forward(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float
) -> tuple[jax.Array, tuple[Any, ...]]:
    y = x.astype(jnp.float32)
    mean = named(jnp.mean(y, axis=-1, keepdims=True), STATISTICS)
    y = y - mean
    spread = named(lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + eps), STATISTICS)
    y = y * spread
    y = y if scale is None else y * scale.astype(jnp.float32)
    y = y if bias is None else y + bias.astype(jnp.float32)
    return y.astype(x.dtype), (x, mean, spread, scale, bias)


def _backward(eps: float, kept: tuple[Any, ...], above: jax.Array) -> Any:
    del eps
    x, mean, spread, scale, bias = kept
    y = (x.astype(jnp.float32) - mean) * spread
    of_y = above.astype(jnp.float32)
    of_y = of_y if scale is None else of_y * scale.astype(jnp.float32)
    of_x = of_y - jnp.mean(of_y, axis=-1, keepdims=True)
    of_x = of_x - y * jnp.mean(of_y * y, axis=-1, keepdims=True)
    of_x = (of_x * spread).astype(x.dtype)
    # After the barrier, or XLA computes y once for both and writes it in float32.
    x, mean, spread, above = lax.optimization_barrier((x, mean, spread, above))
    above = above.astype(jnp.float32)
    y = (x.astype(jnp.float32) - mean) * spread
    of_scale = None if scale is None else (above * y).sum(axis=0).astype(scale.dtype)
    of_bias = None if bias is None else above.sum(axis=0).astype(bias.dtype)
    return of_x, of_scale, of_bias


norm_rows.defvjp(_forward, _backward)
