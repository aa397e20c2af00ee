"""Matrix products in 8-bit floats, scaled per tensor at the moment of use.

Forward in e4m3 (more precision), gradients in e5m2 (more range), sums in float32, as Hopper's
tensor cores do natively; elsewhere the numbers are rounded in the same way and multiplied as usual.
Scales are powers of two, so that nothing but the 8 bits rounds.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.tree import from_paths, paths

_EXPERTS = {"experts", "router"}
E4M3, E5M2 = jnp.float8_e4m3fn, jnp.float8_e5m2
# Measured on an H200: of narrower models a step takes longer than in bfloat16, for what is rounded.
PAYS_FROM = 2048


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Fp8Kernel:
    """A weight whose products are computed in fp8; the array itself is unchanged."""

    array: jax.Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.array.shape

    @property
    def dtype(self) -> Any:
        """Of the array."""
        return self.array.dtype

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`."""
        split = len(self.shape) - num if transposed else num
        rows, columns = math.prod(self.shape[:split]), math.prod(self.shape[split:])
        matrix = self.array.reshape(rows, columns)
        matrix = matrix.T if transposed else matrix
        outer = self.shape[:split] if transposed else self.shape[split:]
        left = x.reshape(-1, math.prod(x.shape[x.ndim - num :]))
        return _product(left, matrix).reshape(*x.shape[: x.ndim - num], *outer)


def with_fp8_kernels(params: Any) -> Any:
    """Parameters with the kernels of repeated layers as fp8; embeddings, norms and heads stay.

    So do experts and their routers.
    """
    return from_paths(
        {
            path: Fp8Kernel(leaf)
            if "layers/" in path and path.endswith("kernel") and not _EXPERTS & set(path.split("/"))
            else leaf
            for path, leaf in paths(params).items()
        }
    )


def warn_if_slower(width: int) -> None:
    """Say that fp8 does not pay for a model of this width."""
    if width < PAYS_FROM:
        warnings.warn(
            f"step.precision.name=fp8 pays from a width of {PAYS_FROM:,} on, got {width:,}: bf16 "
            "is faster and more exact",
            stacklevel=3,
        )


@jax.custom_vjp
def _product(x: jax.Array, w: jax.Array) -> jax.Array:
    return _forward(x, w)[0]


def _forward(x: jax.Array, w: jax.Array) -> tuple[jax.Array, tuple[Any, ...]]:
    small_x, small_w = _rounded(x, E4M3), _rounded(w, E4M3)
    return _multiplied(small_x, small_w, x.dtype), (small_x, small_w)


def _backward(kept: tuple[Any, ...], above: jax.Array) -> tuple[jax.Array, jax.Array]:
    small_x, small_w = kept
    small = _rounded(above, E5M2)
    by_x = _multiplied(small, small_w.turned(), above.dtype)
    by_w = _multiplied(small_x.turned(), small, above.dtype)
    return by_x, by_w


_product.defvjp(_forward, _backward)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Small:
    """A matrix in a small type, over a scale that is a power of two."""

    array: jax.Array
    scale: jax.Array

    def turned(self) -> _Small:
        return _Small(self.array.T, self.scale)

    def wide(self, dtype: Any) -> jax.Array:
        return self.array.astype(dtype) * self.scale.astype(dtype)


def _rounded(x: jax.Array, kind: Any) -> _Small:
    """The scale is the power of two with which the largest number fits."""
    largest = jnp.max(jnp.abs(x)).astype(jnp.float32)
    _, exponent = jnp.frexp(largest / float(jnp.finfo(kind).max))
    # At least bfloat16's and float32's smallest normal number.
    scale = jnp.ldexp(jnp.float32(1), jnp.maximum(exponent, -126))
    return _Small((x.astype(jnp.float32) / scale).astype(kind), scale)


def _multiplied(x: _Small, w: _Small, dtype: Any) -> jax.Array:
    """XLA makes of this a product in fp8 with both scales, whose result is of the type asked for.

    The barrier is for GELU: XLA would end the product with it, and cannot in fp8.
    """
    y = lax.dot_general(x.wide(dtype), w.wide(dtype), (((1,), (0,)), ((), ())))
    kept: jax.Array = lax.optimization_barrier(y)
    return kept
