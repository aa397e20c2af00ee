"""Sharding rules: one table from logical axes to mesh axes; every sharding follows from it.

A parameter has a name for each of its dimensions. A table of rules maps names to mesh
axes; ZeRO's stages are which table is used for the parameters in use, for their gradients, and for
the masters with the optimizer's state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Axes = tuple[str | None, ...]
MeshAxes = str | tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """Rows of (logical axis, mesh axis or axes), in order of preference.

    A mesh axis divides one dimension of an array at most; a dimension that it does not divide
    evenly stays whole, and a later row may take the axis.
    """

    rows: tuple[tuple[str, MeshAxes], ...] = ()

    def spec(self, axes: Axes, shape: tuple[int, ...], mesh: Mesh) -> PartitionSpec:
        """The sharding of an array of these logical axes and this shape on a mesh."""
        if len(axes) != len(shape):
            raise ValueError(f"{len(axes)} axis names {axes} for the shape {shape}")
        placed: list[MeshAxes | None] = [None] * len(axes)
        used: set[str] = set()
        for name, onto in self.rows:
            wanted = (onto,) if isinstance(onto, str) else onto
            size = math.prod(mesh.shape[axis] for axis in wanted)
            for dim, axis in enumerate(axes):
                free = placed[dim] is None and not used & set(wanted)
                if axis == name and free and size > 1 and shape[dim] % size == 0:
                    placed[dim] = onto
                    used |= set(wanted)
        return PartitionSpec(*placed)


# Dimensions that are large in transformers, the best to divide first.
_LARGE = ("embed", "mlp", "vocab", "heads", "kv_heads", "head_dim", "positions")
_DIVIDED = Rules(tuple((name, "fsdp") for name in _LARGE))
_WHOLE = Rules()
_ROWS = Rules((("batch", ("data", "fsdp")),))


@dataclass(frozen=True)
class Zero:
    """What is divided along `fsdp`, for memory: masters and optimizer state, gradients, parameters.

    stage  divided                           bytes per device (Ψ parameters, N devices)
    0      nothing                           16Ψ
    1      masters and optimizer state       4Ψ + 12Ψ/N
    2      … and gradients                   2Ψ + 14Ψ/N
    3      … and the parameters in use       16Ψ/N
    """

    masters: Rules
    gradients: Rules
    params: Rules
    activations: Rules = _ROWS


ZERO = (
    Zero(_WHOLE, _WHOLE, _WHOLE),
    Zero(_DIVIDED, _WHOLE, _WHOLE),
    Zero(_DIVIDED, _DIVIDED, _WHOLE),
    Zero(_DIVIDED, _DIVIDED, _DIVIDED),
)


def shardings(rules: Rules, axes: Any, shapes: Any, mesh: Mesh) -> Any:
    """A tree of shardings for a tree of arrays (or their shapes) and the tree of their axes."""
    return jax.tree.map(
        lambda leaf, names: NamedSharding(mesh, rules.spec(names, tuple(leaf.shape), mesh)),
        shapes,
        axes,
    )


def constrainer(rules: Rules, mesh: Mesh) -> Callable[[jax.Array, Axes], jax.Array]:
    """For `Module.apply(…, constrain=…)`: shards activations by their logical axes."""

    def constrain(x: jax.Array, axes: Axes) -> jax.Array:
        spec = rules.spec(axes, x.shape, mesh)
        sharded: jax.Array = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))
        return sharded

    return constrain


def rows_sharding(mesh: Mesh) -> NamedSharding:
    """Of a batch: its rows over all devices."""
    return NamedSharding(mesh, PartitionSpec(("data", "fsdp")))


def whole(mesh: Mesh) -> NamedSharding:
    """The same array on every device."""
    return NamedSharding(mesh, PartitionSpec())


def bytes_per_device(tree: Any) -> int:
    """Bytes that one device holds of a tree of arrays, the largest of all."""
    totals: dict[Any, int] = {}
    for leaf in jax.tree.leaves(tree):
        for shard in leaf.addressable_shards:
            size = math.prod(shard.data.shape) * leaf.dtype.itemsize
            totals[shard.device] = totals.get(shard.device, 0) + size
    return max(totals.values(), default=0)
