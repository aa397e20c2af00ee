"""Products of few rows with weights of few bits, on GPUs.

Decoding one sequence reads every weight once and computes little: its time is that of the bytes.
A matrix product would write the expanded weight to memory first; a sum over products is one loop
that expands as it reads.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

# Rows up to which the loop is faster than a product on matrix units.
MOST = 4


def is_few(x: jax.Array, num: int) -> bool:
    """Whether x, of which the last `num` dimensions are contracted, has few rows, on a GPU."""
    rows = math.prod(x.shape[: x.ndim - num])
    return rows <= MOST and jax.default_backend() == "gpu"


def summed(x: jax.Array, values: jax.Array) -> jax.Array:
    """X [rows, inputs] · values [inputs, outputs], in float32."""
    return (x.astype(jnp.float32)[..., None] * values.astype(jnp.float32)).sum(axis=-2)


def summed_groups(x: jax.Array, values: jax.Array, scales: jax.Array, zero: int) -> jax.Array:
    """X [rows, groups, size] · the numbers of 4 bits in `values` (see `Grouped`), in float32."""
    low, high = jnp.split(x.astype(jnp.float32)[..., None], 2, axis=-2)
    of_low = (values & 15).astype(jnp.float32) - zero
    of_high = (values >> 4).astype(jnp.float32) - zero
    steps = scales.astype(jnp.float32)[:, None]
    return ((low * of_low + high * of_high) * steps).sum(axis=(-3, -2))
