"""Sharding rules: one table from logical axes to mesh axes; every sharding follows from it.

A parameter has a name for each of its dimensions. A table of rules maps names to mesh
axes; ZeRO's stages are which table is used for the parameters in use, for their gradients, and for
the masters with the optimizer's state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from barrow.parallel.mesh import ROWS, make_mesh, num_row_shards
from barrow.parallel.pipeline import STAGE, in_stages, schedule_of

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

    def without(self, axis: str) -> Rules:
        """The rows that do not use a mesh axis."""
        return Rules(tuple((name, onto) for name, onto in self.rows if axis not in _each(onto)))


# What tensor parallelism divides: each half of a block then needs one sum over the devices.
_TENSOR = tuple((name, "tensor") for name in ("heads", "kv_heads", "mlp", "vocab"))
# Each device has some of the experts, and their tokens are sent to it.
_MODEL = (("experts", "expert"), *_TENSOR)
_PARAMS = (("layers", STAGE), *_MODEL)
# Dimensions that are large in transformers, the best to divide first.
_LARGE = ("embed", "mlp", "vocab", "heads", "kv_heads", "head_dim", "positions")
_WHOLE = Rules(_PARAMS)
_DIVIDED = Rules((*_PARAMS, *((name, "fsdp") for name in _LARGE)))
# Attention needs whole rows: there the heads are divided over `sequence` too. Outside of the layers
# stages share the rows, if there are enough.
_ACTIVATIONS = Rules(
    (
        ("batch", (*ROWS, STAGE)),
        ("batch", ROWS),
        ("length", "sequence"),
        *((name, ("sequence", "tensor")) for name in ("attended_heads", "attended_kv_heads")),
        *((name, "tensor") for name in ("attended_heads", "attended_kv_heads")),
        *_MODEL,
    )
)


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
    activations: Rules = _ACTIVATIONS


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


def placing(rules: Rules, mesh: Mesh) -> Callable[[Axes, tuple[int, ...]], NamedSharding]:
    """For `barrow.models.open(…, place=…)`: parameters go to the devices that the rules say."""
    return lambda axes, shape: NamedSharding(mesh, rules.spec(axes, shape, mesh))


def placing_over(tensor: int) -> Callable[[Axes, tuple[int, ...]], NamedSharding] | None:
    """The same for so many of this process's devices that share a model; None for one."""
    if tensor == 1:
        return None
    mesh, rules = make_mesh(tensor=tensor, devices=jax.local_devices()), ZERO[0].params

    def place(axes: Axes, shape: tuple[int, ...]) -> NamedSharding:
        sizes = dict(zip(axes, shape, strict=True))
        if sizes.get("heads", tensor) % tensor:
            fits = [str(n) for n in range(1, mesh.size + 1) if sizes["heads"] % n == 0]
            raise ValueError(
                f"{tensor} devices cannot share {sizes['heads']} heads; pass one of "
                f"{', '.join(fits)}"
            )
        return NamedSharding(mesh, rules.spec(axes, shape, mesh))

    return place


@dataclass(frozen=True)
class Constrainer:
    """For `Module.apply(…, constrain=…)`: shards activations by their logical axes.

    `micro_batches` and `rounds` are of the pipeline, if the mesh has several stages; `is_mapped`
    is whether this is one of them.
    """

    rules: Rules
    mesh: Mesh
    micro_batches: int | None = None
    rounds: int = 1
    is_mapped: bool = False

    def __call__(self, x: jax.Array, axes: Axes) -> jax.Array:
        """x, sharded by the rules."""
        spec = self.rules.spec(axes, x.shape, self.mesh)
        sharded: jax.Array = jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, spec))
        return sharded

    def divides(self, axis: str) -> bool:
        """Whether a dimension of this name is divided over several devices, if its size allows."""
        return any(
            self.mesh.shape[one] > 1
            for name, onto in self.rules.rows
            for one in _each(onto)
            if name == axis
        )

    def parts(self, axis: str, size: int) -> int:
        """Parts that a dimension of this name and size is divided into."""
        (onto,) = self.rules.spec((axis,), (size,), self.mesh)
        return math.prod(self.mesh.shape[one] for one in _each(onto))

    @property
    def inside(self) -> Constrainer | None:
        """How activations are sharded within a stage; None without stages."""
        if self.mesh.shape[STAGE] == 1 or self.is_mapped:
            return None
        return Constrainer(self.rules.without(STAGE), self.mesh, is_mapped=True)

    def staged(
        self, group: Callable[..., Any], layers: Any, x: Any, shared: Any
    ) -> tuple[Any, Any]:
        """Repeated layers as a pipeline; see `nn.trace.Constrain`."""

        def place(x: jax.Array, *names: str | None) -> jax.Array:
            onto = {None: None, STAGE: STAGE, "batch": ROWS}
            free = [PartitionSpec.UNCONSTRAINED] * (x.ndim - len(names))
            spec = PartitionSpec(*(onto[name] for name in names), *free)
            placed: jax.Array = jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, spec))
            return placed

        schedule = schedule_of(
            jax.tree.leaves(x)[0].shape[0],
            self.mesh.shape[STAGE],
            parts=num_row_shards(self.mesh),
            micro_batches=self.micro_batches,
            rounds=self.rounds,
        )
        return in_stages(schedule, group, layers, x, shared, place)

    def mapped(
        self, function: Callable[..., Any], axes: Sequence[Axes], out: Sequence[Axes]
    ) -> Callable[..., Any]:
        """``function(*parts, over)`` on each device's parts; see `nn.trace.Constrain`."""

        def call(*arrays: jax.Array) -> Any:
            specs = [
                self.rules.spec(names, x.shape, self.mesh)
                for names, x in zip(axes, arrays, strict=True)
            ]
            placed = {
                name: onto
                for names, spec in zip(axes, specs, strict=True)
                for name, onto in zip(names, spec, strict=True)
                if name is not None and onto is not None
            }

            def over(name: str) -> tuple[str, ...]:
                return _each(placed.get(name))

            return jax.shard_map(
                lambda *parts: function(*parts, over),
                mesh=self.mesh,
                in_specs=tuple(specs),
                out_specs=tuple(
                    PartitionSpec(*(n and placed.get(n) for n in names)) for names in out
                ),
                check_vma=False,
            )(*arrays)

        return call


def _each(onto: MeshAxes | None) -> tuple[str, ...]:
    return (onto,) if isinstance(onto, str) else onto or ()


def constrainer(
    rules: Rules, mesh: Mesh, *, micro_batches: int | None = None, rounds: int = 1
) -> Constrainer:
    """How activations are sharded on a mesh, and its pipeline."""
    return Constrainer(rules, mesh, micro_batches, rounds)


def rows_sharding(mesh: Mesh) -> NamedSharding:
    """Of a batch: its rows over `data`, `fsdp` and `expert`, the tokens over `sequence`."""
    is_divided = mesh.shape.get("sequence", 1) > 1
    return NamedSharding(mesh, PartitionSpec(ROWS, *(("sequence",) if is_divided else ())))


def fitted(rows: Any, shape: tuple[int, ...]) -> Any:
    """The sharding of a batch for one array; columns are divided only of [rows, columns]."""
    if not isinstance(rows, NamedSharding) or len(rows.spec) < 2:
        return rows
    parts = math.prod(rows.mesh.shape[axis] for axis in _each(rows.spec[1]))
    if len(shape) == 2 and shape[1] % parts == 0:
        return rows
    return NamedSharding(rows.mesh, PartitionSpec(rows.spec[0]))


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
