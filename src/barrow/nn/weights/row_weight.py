"""Weights with their outputs first, plain or quantized, for the kernels of `nn.row_products`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.row_products import GROUP, Held, expanded, has_kernel, row_products, shifts
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import is_weight, with_weights
from barrow.nn.weights.per_channel import PerChannel


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("held",),
    meta_fields=("inputs", "outputs", "kind", "is_table"),
)
@dataclass(frozen=True)
class RowWeight:
    """A kernel [*inputs, *outputs], or a table of embeddings [*outputs, *inputs], held as rows.

    A row has the inputs of one output. `kind` is the type of the array it represents.
    """

    held: Held
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str
    is_table: bool = False

    @classmethod
    def of(cls, leaf: Any, num_in: int | None) -> RowWeight | None:
        """The same weight; None where there is no such form of it.

        Numbers stay what they are; those of 4 bits are packed in another order.
        """
        shape, is_table = tuple(leaf.shape), num_in is None
        num = 1 if num_in is None else num_in
        inputs, outputs = (shape[num:], shape[:num]) if is_table else (shape[:num], shape[num:])
        held: Held
        if isinstance(leaf, Grouped):
            is_filled_up = math.prod(inputs) % GROUP > 0
            if leaf.bits != 4 or leaf.values.shape[-2] != GROUP // 2 or is_filled_up:
                return None
            held = Held(_in_words(leaf.values), leaf.scales)
        elif isinstance(leaf, PerChannel):
            if leaf.dynamic or leaf.inputs is not None or leaf.values.dtype != jnp.int8:
                return None
            held = Held(_rows_of(leaf.values, num_in), leaf.scales.reshape(-1))
        elif is_weight(leaf):
            return None
        else:
            held = Held(_rows_of(leaf, num_in), None)
        return cls(held, inputs, outputs, jnp.dtype(leaf.dtype).name, is_table)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight."""
        return self.outputs + self.inputs if self.is_table else self.inputs + self.outputs

    @property
    def dtype(self) -> Any:
        """Of the weight."""
        return jnp.dtype(self.kind)

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`."""
        assert num == len(self.inputs) and transposed == self.is_table  # noqa: PT018
        outer, rows = x.shape[: x.ndim - num], x.reshape(-1, math.prod(self.inputs))
        if has_kernel(rows.shape, rows.dtype, (self.held,)):
            (y,) = row_products(rows, (self.held,))
        else:
            values, scales = expanded(self.held, x.dtype)
            y = lax.dot_general(rows, values, (((1,), (1,)), ((), ())))
            y = y if scales is None else (y * scales).astype(x.dtype)
        return y.reshape(*outer, *self.outputs)

    def array(self) -> jax.Array:
        """The array it represents."""
        values, scales = expanded(self.held, jnp.float32)
        values = values if scales is None else values * scales[:, None]
        values = values if self.is_table else values.T
        return values.astype(self.dtype).reshape(self.shape)

    def rows(self, ids: jax.Array) -> jax.Array:
        """See `nn.Rows`."""
        assert self.is_table
        values = jnp.take(self.held.values, ids, axis=0, mode="clip").astype(jnp.float32)
        scales = self.held.scales
        scales = jnp.ones(self.outputs, jnp.float32) if scales is None else scales
        return (values * jnp.take(scales, ids, axis=0, mode="fill")[..., None]).astype(self.dtype)


def in_rows(params: Any, dtype: Any) -> Any:
    """Parameters in which weights have their outputs first, where there is such a form.

    Arrays are cast to the type of activations, as `nn.dot` would.
    """

    def one(_: str, leaf: Any, num_in: int | None) -> Any:
        found = RowWeight.of(leaf if is_weight(leaf) else leaf.astype(dtype), num_in)
        return leaf if found is None else found

    return with_weights(params, one, also_substitutes=True)


def _rows_of(values: jax.Array, num_in: int | None) -> jax.Array:
    if num_in is None:
        return values
    return values.reshape(math.prod(values.shape[:num_in]), -1).T


def _in_words(values: jax.Array) -> jax.Array:
    """Bytes of two numbers [groups, 32, outputs] (see `Grouped`) as words (see `Held`)."""
    numbers = jnp.concatenate([values & 15, values >> 4], axis=1).astype(jnp.uint32)
    eights = numbers.reshape(-1, 8, numbers.shape[-1]) << shifts()[:, None]
    return eights.sum(axis=1, dtype=jnp.uint32).T
