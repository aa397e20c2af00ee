"""Weights of 8 bits, with a scale for each output channel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.dot import dot


@partial(
    jax.tree_util.register_dataclass, data_fields=("values", "scales"), meta_fields=("num_in",)
)
@dataclass(frozen=True)
class Int8:
    """values · scales: int8 integers in the shape of the weight, and a scale for each output.

    A kernel contracts its first `num_in` dimensions, and its scales have the shape of the others. A
    table of embeddings (`num_in` None) has a scale for each row: rows are the outputs of tied
    logits.
    """

    values: jax.Array
    scales: jax.Array
    num_in: int | None

    @classmethod
    def rounded(cls, weight: jax.Array, *, num_in: int | None) -> Int8:
        """The nearest, where the largest of an output channel becomes ±127."""
        inputs = tuple(range(1, weight.ndim) if num_in is None else range(num_in))
        wide = weight.astype(jnp.float32)
        scales = jnp.maximum(jnp.abs(wide).max(axis=inputs, keepdims=True), 1e-30) / 127
        values = jnp.round(wide / scales).astype(jnp.int8)
        return cls(values, scales.squeeze(inputs).astype(weight.dtype), num_in)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight."""
        return self.values.shape

    @property
    def dtype(self) -> Any:
        """Of the weight."""
        return self.scales.dtype

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`; the scales of outputs multiply the result."""
        assert transposed if self.num_in is None else (num == self.num_in and not transposed)
        y = dot(x, self.values.astype(x.dtype), num=num, transposed=transposed)
        return y * self.scales.astype(y.dtype)

    def rows(self, ids: jax.Array) -> jax.Array:
        """See `nn.Rows`."""
        values = jnp.take(self.values, ids, axis=0, mode="clip").astype(jnp.float32)
        scales = jnp.take(self.scales.astype(jnp.float32), ids, axis=0, mode="fill")
        return (values * scales[..., None]).astype(self.dtype)


def with_int8(params: Any) -> Any:
    """Parameters with kernels and tables of embeddings in int8; norms, biases and experts stay."""

    def one(path: tuple[Any, ...], leaf: jax.Array) -> Any:
        names = [str(getattr(part, "key", part)) for part in path]
        if "experts" in names or "router" in names or names[0] == "positions":
            return leaf
        if names[-1] == "table":
            return Int8.rounded(leaf, num_in=None)
        is_back = names[-2:] == ["out", "kernel"]
        return Int8.rounded(leaf, num_in=1 + is_back) if names[-1] == "kernel" else leaf

    return jax.tree_util.tree_map_with_path(one, params)
