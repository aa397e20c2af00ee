"""The key–value cache: keys and values of earlier tokens, so that decoding one costs one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, Self

import jax
import jax.numpy as jnp
from jax import lax


class KeyValues(Protocol):
    """The protocol of one layer's cache; a paged one can replace `Cache`."""

    @property
    def lengths(self) -> jax.Array:
        """Positions in each row [batch]."""

    def append(self, k: jax.Array, v: jax.Array, num: jax.Array) -> Self:
        """With more positions [batch, length, kv_heads, head_dim], of which `num` [batch] count."""

    def view(self) -> tuple[jax.Array, jax.Array]:
        """All keys and values [batch, capacity, kv_heads, head_dim]; `lengths` of them are real."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cache:
    """One array each for keys and values, as long as the longest row.

    They are stored with heads first, [batch, kv_heads, capacity, head_dim]: each head reads
    contiguous memory.
    """

    keys: jax.Array
    values: jax.Array
    lengths: jax.Array

    @classmethod
    def empty(
        cls, batch: int, capacity: int, kv_heads: int, head_dim: int, dtype: jnp.dtype
    ) -> Cache:
        """An empty cache of `capacity` positions per row."""
        shape = (batch, kv_heads, capacity, head_dim)
        lengths = jnp.zeros((batch,), jnp.int32)
        return cls(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype), lengths)

    @property
    def capacity(self) -> int:
        """The most positions of a row."""
        return int(self.keys.shape[2])

    def append(self, k: jax.Array, v: jax.Array, num: jax.Array) -> Cache:
        """Append to each row; positions past `num` are overwritten by the next call.

        The caller must ensure that they fit: a compiled program cannot raise.
        """
        if k.shape[1] > self.capacity:
            raise ValueError(f"{k.shape[1]} positions for a cache of {self.capacity}")
        return replace(
            self,
            keys=written(self.keys, k, self.lengths),
            values=written(self.values, v, self.lengths),
            lengths=self.lengths + num,
        )

    def view(self) -> tuple[jax.Array, jax.Array]:
        """All keys and values."""
        return self.keys.swapaxes(1, 2), self.values.swapaxes(1, 2)

    def grown(self, capacity: int) -> Cache:
        """The same with a larger capacity."""
        more = capacity - self.capacity
        if more < 0:
            raise ValueError(f"a cache of {self.capacity} positions cannot shrink to {capacity}")
        pad = ((0, 0), (0, 0), (0, more), (0, 0))
        return replace(self, keys=jnp.pad(self.keys, pad), values=jnp.pad(self.values, pad))


def written(held: jax.Array, more: jax.Array, starts: jax.Array) -> jax.Array:
    more = more.swapaxes(1, 2).astype(held.dtype)
    if held.shape[0] == 1:  # a slice is updated in place everywhere, a scatter not on CPUs
        return lax.dynamic_update_slice_in_dim(held, more, starts[0], axis=2)
    put = partial(lax.dynamic_update_slice_in_dim, axis=1)
    return jax.vmap(put)(held, more, starts)
