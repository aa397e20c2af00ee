"""The norm of rows, with a gradient written for GPUs.

It keeps x in its own type and two numbers for each row. The gradients of scale and bias are then
sums of what is computed from these on the way: the derivative of the plain formula has XLA write
and read a float32 array of x's size for them. Kernels (`norm_kernels`) read everything once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import is_hopper, log_choice, with_twin
from barrow.nn.layers.norm_kernels import gradient_kernel, norm_kernel, packed, takes, unpacked
from barrow.nn.layers.remat import STATISTICS, named


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def norm_rows(
    x: jax.Array,
    scale: jax.Array | None,
    bias: jax.Array | None,
    eps: float,
    centred: bool = True,
) -> jax.Array:
    """(x − mean) / √(variance + eps) · scale + bias of rows [rows, width]; float32 inside.

    Not `centred` it is x / √(mean of x² + eps) · scale, the RMS norm.
    """
    return _forward(x, scale, bias, eps, centred)[0]


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def norm_beside(
    x: jax.Array,
    scale: jax.Array | None,
    bias: jax.Array | None,
    eps: float,
    centred: bool = True,
) -> tuple[jax.Array, jax.Array]:
    """First x, then `norm_rows` of it: a residual's gradient is added in the norm's own pass."""
    return x, _forward(x, scale, bias, eps, centred)[0]


def _forward(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float, centred: bool
) -> tuple[jax.Array, tuple[Any, ...]]:
    if scale is None or (bias is not None) != centred or not has_kernel(x.shape, x.dtype):
        y, mean, spread = plain_norm(eps, centred, x, scale, bias)
        return y, (x, (mean, spread), scale, bias)
    both = with_twin(norm_kernel, _twin, eps, centred)
    y, statistics = both(x, scale, *([] if bias is None else [bias]))
    return y, (x, named(statistics, STATISTICS), scale, bias)


def _forward_beside(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float, centred: bool
) -> tuple[tuple[jax.Array, jax.Array], tuple[Any, ...]]:
    y, kept = _forward(x, scale, bias, eps, centred)
    return (x, y), kept


def _backward(eps: float, centred: bool, kept: tuple[Any, ...], above: jax.Array) -> Any:
    del eps
    return _gradient(centred, kept, above)


def _backward_beside(
    eps: float, centred: bool, kept: tuple[Any, ...], given: tuple[jax.Array, jax.Array]
) -> Any:
    del eps
    return _gradient(centred, kept, given[1], given[0])


norm_rows.defvjp(_forward, _backward)
norm_beside.defvjp(_forward_beside, _backward_beside)


def _gradient(
    centred: bool, kept: tuple[Any, ...], above: jax.Array, *beside: jax.Array
) -> tuple[jax.Array, jax.Array | None, jax.Array | None]:
    x, statistics, scale, bias = kept
    if isinstance(statistics, tuple):
        found = plain_gradient(centred, x, *statistics, scale, above, *beside)
    else:
        both = with_twin(gradient_kernel, _gradient_twin, centred)
        found = both(x, statistics, scale, above, *beside)
    return (
        found[0],
        None if scale is None else found[1].astype(scale.dtype),
        None if bias is None else found[2].astype(bias.dtype),
    )


def plain_norm(
    eps: float, centred: bool, x: jax.Array, scale: jax.Array | None, bias: jax.Array | None = None
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The norm, and mean and spread of each row [rows, 1]."""
    y = x.astype(jnp.float32)
    mean = jnp.zeros((len(x), 1), jnp.float32)
    if centred:
        mean = named(jnp.mean(y, axis=-1, keepdims=True), STATISTICS)
        y = y - mean
    spread = named(lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + eps), STATISTICS)
    y = y * spread
    y = y if scale is None else y * scale.astype(jnp.float32)
    y = y if bias is None else y + bias.astype(jnp.float32)
    return y.astype(x.dtype), mean, spread


def plain_gradient(
    centred: bool,
    x: jax.Array,
    mean: jax.Array,
    spread: jax.Array,
    scale: jax.Array | None,
    above: jax.Array,
    *beside: jax.Array,
) -> tuple[jax.Array, ...]:
    """Of x, with what is `beside` added; of scale and, `centred`, of bias in float32."""

    def standard(x: jax.Array, mean: jax.Array, spread: jax.Array) -> jax.Array:
        return ((x.astype(jnp.float32) - mean) if centred else x.astype(jnp.float32)) * spread

    y = standard(x, mean, spread)
    of_y = above.astype(jnp.float32)
    of_y = of_y if scale is None else of_y * scale.astype(jnp.float32)
    of_x = of_y - jnp.mean(of_y, axis=-1, keepdims=True) if centred else of_y
    of_x = of_x - y * jnp.mean(of_y * y, axis=-1, keepdims=True)
    of_x = (of_x * spread).astype(x.dtype)
    of_x = of_x + beside[0] if beside else of_x
    # After the barrier, or XLA computes y once for both and writes it in float32.
    x, mean, spread, above = lax.optimization_barrier((x, mean, spread, above))
    above = above.astype(jnp.float32)
    of_scale = (above * standard(x, mean, spread)).sum(axis=0)
    return (of_x, of_scale, above.sum(axis=0)) if centred else (of_x, of_scale)


def _twin(
    eps: float, centred: bool, x: jax.Array, scale: jax.Array, *bias: jax.Array
) -> tuple[jax.Array, jax.Array]:
    y, mean, spread = plain_norm(eps, centred, x, scale, *bias)
    return y, packed(mean, spread, x.shape[1])


def _gradient_twin(
    centred: bool, x: jax.Array, statistics: jax.Array, *rest: jax.Array
) -> tuple[jax.Array, ...]:
    return plain_gradient(centred, x, *unpacked(statistics, x.shape[1]), *rest)


def has_kernel(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether the kernels take rows of this shape and type here."""
    if not is_hopper():
        return False
    fits = takes(*shape) and dtype == jnp.bfloat16
    log_choice("norm", shape, fits)
    return fits
