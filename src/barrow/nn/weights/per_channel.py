"""Weights of 8 bits, with a scale for each output channel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.dot import dot


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("values", "scales", "inputs"),
    meta_fields=("num_in", "kind", "dynamic"),
)
@dataclass(frozen=True)
class PerChannel:
    """values · scales: int8 or float8 in the shape of the weight, and a scale for each output.

    A kernel contracts its first `num_in` dimensions, and its scales have the shape of the others. A
    table of embeddings (`num_in` None) has a scale for each row: rows are the outputs of tied
    logits. `kind` is the type of the array it represents. With `inputs`, in the shape of the
    contracted dimensions, x is divided by them first, and the values are those of the weight times
    them (SmoothQuant). With `dynamic`, each row of x becomes int8 too, by its largest number, and
    the product is one of integers.
    """

    values: jax.Array
    scales: jax.Array
    num_in: int | None
    kind: str = "float32"
    inputs: jax.Array | None = None
    dynamic: bool = False

    @classmethod
    def rounded(cls, weight: jax.Array, *, num_in: int | None) -> PerChannel:
        """The nearest int8, where the largest of an output channel becomes ±127."""
        inner = tuple(range(1, weight.ndim) if num_in is None else range(num_in))
        wide = weight.astype(jnp.float32)
        scales = jnp.maximum(jnp.abs(wide).max(axis=inner, keepdims=True), 1e-30) / 127
        values = jnp.round(wide / scales).astype(jnp.int8)
        return cls(values, scales.squeeze(inner), num_in, jnp.dtype(weight.dtype).name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight."""
        return self.values.shape

    @property
    def dtype(self) -> Any:
        """Of the weight."""
        return jnp.dtype(self.kind)

    def astype(self, dtype: Any) -> PerChannel:
        """The same numbers, for an array of another type."""
        return replace(self, kind=jnp.dtype(dtype).name)

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`; the scales of outputs multiply the result."""
        assert transposed if self.num_in is None else (num == self.num_in and not transposed)
        if self.inputs is not None:
            x = (x / self.inputs).astype(x.dtype)
        if self.dynamic:
            return self._of_integers(x, num, transposed=transposed)
        # The gradient needs the values in the type of x: they are cast again, not kept.
        product = jax.checkpoint(
            lambda x, values: dot(x, values.astype(x.dtype), num=num, transposed=transposed)
        )
        y: jax.Array = product(x, self.values)
        return (y * self.scales).astype(x.dtype)

    def _of_integers(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        last = tuple(range(x.ndim - num, x.ndim))
        wide = x.astype(jnp.float32)
        steps = jnp.maximum(jnp.abs(wide).max(axis=last, keepdims=True), 1e-30) / 127
        rounded = jnp.round(wide / steps).astype(jnp.int8)
        first = self.values.ndim - num if transposed else 0
        contracted = ((last, tuple(range(first, first + num))), ((), ()))
        sums = lax.dot_general(rounded, self.values, contracted, preferred_element_type=jnp.int32)
        steps = steps.reshape(*x.shape[: x.ndim - num], *(1,) * self.scales.ndim)
        return (sums * steps * self.scales).astype(x.dtype)

    def array(self) -> jax.Array:
        """The array it represents."""
        wide = self.values.astype(jnp.float32)
        wide = wide * self.scales[..., None] if self.num_in is None else wide * self.scales
        if self.inputs is not None and self.num_in is not None:
            outputs = (1,) * (wide.ndim - self.inputs.ndim)
            wide = wide / self.inputs.reshape(*self.inputs.shape, *outputs)
        return wide.astype(self.dtype)

    def rows(self, ids: jax.Array) -> jax.Array:
        """See `nn.Rows`."""
        values = jnp.take(self.values, ids, axis=0, mode="clip").astype(jnp.float32)
        scales = jnp.take(self.scales.astype(jnp.float32), ids, axis=0, mode="fill")
        return (values * scales[..., None]).astype(self.dtype)
