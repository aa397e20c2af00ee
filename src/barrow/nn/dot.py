"""The matrix product. A weight that is not a plain array defines its own."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax


@runtime_checkable
class Weight(Protocol):
    """A substitute for an array of weights: int8 with scales, fp8, low rank."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array it represents."""

    @property
    def dtype(self) -> Any:
        """The type of the array it represents."""

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """What `dot` returns for it."""


def dot(
    x: jax.Array, weight: jax.Array | Weight, *, num: int = 1, transposed: bool = False
) -> jax.Array:
    """Contract the last `num` dimensions of x with the first `num` of a weight.

    ``[..., i], [i, o...] -> [..., o...]``; with `transposed` the weight's *last* `num` dimensions
    are contracted: ``[..., i], [o..., i] -> [..., o...]``. The result has the type of x; products
    of bfloat16 and float16 are summed in float32 by the hardware.
    """
    shape = weight.shape
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise ValueError(f"x must be floating point, got {x.dtype}; for ids use nn.Embed")
    if len(shape) < num or x.ndim < num:
        raise ValueError(f"cannot contract {num} dimensions of {x.shape} and {shape}")
    inner = shape[len(shape) - num :] if transposed else shape[:num]
    if x.shape[x.ndim - num :] != tuple(inner):
        raise ValueError(
            f"the last {num} dimensions of x {x.shape} must be the "
            f"{'last' if transposed else 'first'} {num} of the weight's {tuple(shape)}"
        )
    if not isinstance(weight, jax.Array) and isinstance(weight, Weight):
        return weight.contract(x, num, transposed=transposed)
    # The weight is not reshaped: a reshaped one would also be kept for the backward pass, in a scan
    # over layers a copy of them all.
    first = len(shape) - num if transposed else 0
    of_x = tuple(range(x.ndim - num, x.ndim))
    contracted = ((of_x, tuple(range(first, first + num))), ((), ()))
    array = jnp.asarray(weight, x.dtype)
    if num == 1 and len(shape) == 2 and not transposed and _narrows(x, array):
        return lax.dot_general(x, lax.optimization_barrier(array.T), ((of_x, (1,)), ((), ())))
    if x.size == math.prod(inner) and x.ndim == num + 1 and jax.default_backend() == "gpu":
        # Of one row XLA writes the products and adds them up: several kernels of the weight's size.
        rows = lax.optimization_barrier(jnp.pad(x, ((0, 7), *[(0, 0)] * num)))
        return lax.dot_general(rows, array, contracted)[:1]
    return lax.dot_general(x, array, contracted)


def as_array(weight: Any) -> Any:
    """A weight as an array: a substitute is expanded, by its method `array`."""
    return weight.array() if hasattr(weight, "array") else weight


def _narrows(x: jax.Array, weight: jax.Array) -> bool:
    """Whether a weight is faster transposed: for its gradient, on a CPU, with many rows.

    XLA's product xᵀ·g on a CPU takes twice as long where x is wider than g. That of a transposed
    weight is gᵀ·x; the barrier keeps XLA from undoing it.
    """
    wide, narrow = weight.shape
    rows = x.size // wide
    return wide > narrow and rows >= wide and jax.default_backend() == "cpu"
