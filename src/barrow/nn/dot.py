"""The one matrix product. A weight that is no plain array brings its own."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax


@runtime_checkable
class Weight(Protocol):
    """Stands in for an array of weights: int8 with scales, fp8, low rank."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array it stands for."""

    @property
    def dtype(self) -> Any:
        """The type of the array it stands for."""

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
        raise ValueError(
            f"x is {x.dtype}, to which a weight would be rounded: make it floating or, where it is "
            "ids, use nn.Embed"
        )
    if len(shape) < num or x.ndim < num:
        raise ValueError(f"cannot contract {num} dimensions of {x.shape} and {shape}")
    inner = shape[len(shape) - num :] if transposed else shape[:num]
    if x.shape[x.ndim - num :] != tuple(inner):
        raise ValueError(
            f"the last {num} of x's dimensions {x.shape} must be the "
            f"{'last' if transposed else 'first'} {num} of the weight's {tuple(shape)}"
        )
    if not isinstance(weight, jax.Array) and isinstance(weight, Weight):
        return weight.contract(x, num, transposed=transposed)
    outer = shape[: len(shape) - num] if transposed else shape[num:]
    # Two dimensions each: XLA then always sees one plain matrix product.
    rows = x.shape[: x.ndim - num]
    left = x.reshape(*rows, math.prod(inner))
    matrix = jnp.asarray(weight, x.dtype).reshape(
        (math.prod(outer), math.prod(inner)) if transposed else (math.prod(inner), math.prod(outer))
    )
    contracted = (((left.ndim - 1,), (1 if transposed else 0,)), ((), ()))
    return lax.dot_general(left, matrix, contracted).reshape(*rows, *outer)
