"""Weights of 4 or 8 bits, with a scale for each group of inputs of an output channel."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.nn.dot import dot

# What 0 is as 4 bits without a sign.
ZERO = 8


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("values", "scales"),
    meta_fields=("inputs", "outputs", "bits", "kind"),
)
@dataclass(frozen=True)
class Grouped:
    """values · scales of a kernel that contracts dimensions `inputs` and has dimensions `outputs`.

    Inputs, in a row and filled up with zeros, are `groups` of `size`; outputs are in a row too.
    `scales` are [groups, outputs]. Values of 8 bits are int8 [groups, size, outputs]. Of 4 bits
    (−8…7, plus 8) two are in a byte, uint8 [groups, size / 2, outputs]: the lower half of byte i is
    number i of the group, the upper half number i + size / 2, as in GGUF's Q4_0. `kind` is the type
    of the array it represents.
    """

    values: jax.Array
    scales: jax.Array
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    bits: int
    kind: str = "float32"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the kernel; of stacked layers, with their number first."""
        return (*self.values.shape[:-3], *self.inputs, *self.outputs)

    @property
    def dtype(self) -> Any:
        """Of the kernel."""
        return jnp.dtype(self.kind)

    def astype(self, dtype: Any) -> Grouped:
        """The same numbers, for an array of another type."""
        return replace(self, kind=jnp.dtype(dtype).name)

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`: the kernel is expanded where it is used, again for the gradient."""
        assert num == len(self.inputs) and not transposed  # noqa: PT018
        y: jax.Array = _product(self, x)
        return y

    def array(self) -> jax.Array:
        """The kernel it represents."""
        return self._expanded(self.dtype).reshape(self.shape)

    def _expanded(self, dtype: Any) -> jax.Array:
        """[..., inputs, outputs]."""
        values = self.values
        if self.bits == 4:
            halves = (values & 15, values >> 4)
            values = jnp.concatenate(halves, axis=-2).astype(jnp.int8) - ZERO
        scales = self.scales.astype(dtype)[..., None, :]
        wide = values.astype(dtype) * scales
        *stack, groups, size, outputs = wide.shape
        return wide.reshape(*stack, groups * size, outputs)[..., : math.prod(self.inputs), :]


@jax.checkpoint
def _product(kernel: Grouped, x: jax.Array) -> jax.Array:
    wide = kernel._expanded(x.dtype).reshape(kernel.shape)
    return dot(x, wide, num=len(kernel.inputs))


def packed(values: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.uint8]:
    """Numbers −8…7 [groups, size, outputs], two in a byte (see `Grouped`)."""
    low, high = np.split((values + ZERO).astype(np.uint8), 2, axis=-2)
    return (low | high << 4).astype(np.uint8)
