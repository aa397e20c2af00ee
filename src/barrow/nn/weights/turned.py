"""Weights with their outputs first, for products of a few rows on CPUs.

W·xᵀ takes less processor time than x·W: probably XLA packs the second operand for each product,
which for a weight takes longer than to read it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.weights.kernels import with_weights

# Rows up to which it is faster; a single one is a product of a matrix and a vector in any case.
_MOST = 32


@partial(jax.tree_util.register_dataclass, data_fields=("values",), meta_fields=("num_in",))
@dataclass(frozen=True)
class Turned:
    """A kernel as [*outputs, *inputs], of `num_in` inputs; or a table of embeddings (None)."""

    values: jax.Array
    num_in: int | None

    @classmethod
    def of(cls, weight: jax.Array, num_in: int | None) -> Turned:
        """The same weight, copied unless it is a table."""
        if num_in is None:
            return cls(weight, None)
        order = (*range(num_in, weight.ndim), *range(num_in))
        return cls(jnp.transpose(weight, order), num_in)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight."""
        shape: tuple[int, ...] = self.values.shape
        first = 0 if self.num_in is None else len(shape) - self.num_in
        return (*shape[first:], *shape[:first])

    @property
    def dtype(self) -> Any:
        """Of the weight."""
        return self.values.dtype

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`."""
        assert transposed if self.num_in is None else (num == self.num_in and not transposed)
        outer, inner = x.shape[: x.ndim - num], math.prod(x.shape[x.ndim - num :])
        outputs = self.values.shape[: self.values.ndim - num]
        rows = x.reshape(-1, inner)
        values = self.values.reshape(-1, inner).astype(x.dtype)
        last = (((1,), (1,)), ((), ()))
        y: jax.Array
        if 1 < len(rows) <= _MOST:
            # The barrier keeps XLA from turning it round again.
            y = lax.optimization_barrier(lax.dot_general(values, rows, last)).T
        else:
            y = lax.dot_general(rows, values, last)
        return y.reshape(*outer, *outputs)

    def array(self) -> jax.Array:
        """The array it represents."""
        if self.num_in is None:
            return self.values
        first = self.values.ndim - self.num_in
        order = (*range(first, self.values.ndim), *range(first))
        return jnp.transpose(self.values, order)

    def rows(self, ids: jax.Array) -> jax.Array:
        """See `nn.Rows`."""
        return jnp.take(self.values, ids, axis=0, mode="fill")


def turned(params: Any) -> Any:
    """Parameters with the outputs of kernels first."""
    return with_weights(params, lambda _, leaf, num_in: Turned.of(leaf, num_in))
