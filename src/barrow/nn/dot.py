"""The one matrix product. A weight that is no plain array brings its own."""

from __future__ import annotations

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
    # The weight as it is: a reshaped one would be kept for the backward pass beside the first, and
    # in a scan over layers that is a copy of them all.
    first = len(shape) - num if transposed else 0
    of_x = tuple(range(x.ndim - num, x.ndim))
    contracted = ((of_x, tuple(range(first, first + num))), ((), ()))
    return lax.dot_general(x, jnp.asarray(weight, x.dtype), contracted)
