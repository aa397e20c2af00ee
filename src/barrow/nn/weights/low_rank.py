"""A weight plus a product of two narrow ones (LoRA)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.dot import as_array, dot
from barrow.nn.tree import Tree
from barrow.nn.weights.kernels import is_weight


@partial(
    jax.tree_util.register_dataclass, data_fields=("base", "down", "up"), meta_fields=("scale",)
)
@dataclass(frozen=True)
class LowRank:
    """base + scale · down·up, for a kernel [*in, *out]: down is [*in, rank], up is [rank, *out].

    All three may have a leading dimension of layers, as stacked parameters do.
    """

    base: Any
    down: jax.Array
    up: jax.Array
    scale: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight."""
        return tuple(self.base.shape)

    @property
    def dtype(self) -> Any:
        """Of the weight."""
        return self.base.dtype

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        """See `nn.dot`; the product of the narrow ones is never made."""
        assert num == self.down.ndim - 1
        assert not transposed
        narrow = dot(x, self.down, num=num)
        return dot(x, self.base, num=num) + self.scale * dot(narrow, self.up)

    def array(self) -> jax.Array:
        """The weight of one layer, in the type of the base; sums are float32."""
        base, down, up = (x.astype(jnp.float32) for x in (self.base, self.down, self.up))
        whole: jax.Array = as_array(base) + self.scale * jnp.tensordot(down, up, axes=1)
        return whole.astype(self.dtype)


def merged(params: Any) -> Any:
    """Parameters with arrays where they have `LowRank` or quantized weights."""

    def whole(tree: Any) -> Any:
        return jax.tree.map(as_array, tree, is_leaf=is_weight)

    if not isinstance(params.get("layers", ()), Mapping):
        return whole(params)
    # Layer by layer: the scales of a stack do not fit its values.
    rest = Tree({name: x for name, x in params.items() if name != "layers"})
    return whole(rest) | {"layers": jax.vmap(whole)(params["layers"])}


def joined(base: Any, adapters: Any, scale: float) -> Any:
    """Parameters of the whole model: kernels with adapters are `LowRank`, others as they are.

    What the adapters have as a plain array (a head that is trained whole) replaces the base's.
    """
    if isinstance(base, tuple):
        return tuple(joined(b, a, scale) for b, a in zip(base, adapters, strict=True))
    if isinstance(base, Mapping):
        mixed = {name: x for name, x in adapters.items() if name not in base}
        for name, held in base.items():
            mixed[name] = joined(held, adapters[name], scale) if name in adapters else held
        return Tree(mixed)
    if isinstance(adapters, Mapping):
        return LowRank(base, adapters["down"], adapters["up"], scale)
    return adapters
