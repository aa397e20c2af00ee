"""Memory of a step on one device, by kind.

Arrays are exact, from shapes and shardings. Activations are those that the equations need at the
moment that needs most (`nn.liveness`). What a compiled step reserves is known as one number: then
temporaries are what the other kinds do not explain.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.abstract import jaxpr_of
from barrow.nn.liveness import Peak, peak
from barrow.parallel import fitted, shardings
from barrow.parallel.offload import Outside
from barrow.parallel.placement import Placement
from barrow.train.precision import Precision
from barrow.train.program import Program
from barrow.train.step import StepSettings


@dataclass(frozen=True)
class Memory:
    """Bytes of one device, by kind.

    - `parameters`: masters, and the copy that a step computes with where there is one;
      `optimizer`: its state, averages and collections; `gradients`.
    - `activations`: the batch, and what the forward pass keeps for the backward pass;
      `temporaries`: what else exists at the moment that needs most.
    - `is_compiled`: whether the total is the compiler's; else the last two are the equations'.
    """

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    temporaries: int
    is_compiled: bool = False

    @property
    def total(self) -> int:
        """All kinds."""
        return sum(self.by_kind.values())

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes by name."""
        found = asdict(self)
        del found["is_compiled"]
        return found

    def compiled(self, found: Any) -> Memory:
        """With the total of a compiled step (`memory_analysis`)."""
        total = found.argument_size_in_bytes + found.temp_size_in_bytes
        total += found.output_size_in_bytes - found.alias_size_in_bytes
        rest = total - self.parameters - self.optimizer
        gradients = min(self.gradients, rest)
        activations = min(self.activations, rest - gradients)
        return replace(
            self,
            gradients=gradients,
            activations=activations,
            temporaries=rest - gradients - activations,
            is_compiled=True,
        )


@dataclass(frozen=True)
class Arrays:
    """Bytes of one device that are certain.

    `masters`, or what it has of those kept outside; the `copy` that a step computes with;
    `gradients` of a micro-batch and the float32 `sums` of several; the `optimizer` and averages.
    `outside` are bytes that it fetches and stores again in each step.
    """

    masters: int
    copy: int
    gradients: int
    sums: int
    optimizer: int
    outside: int

    def memory(self, found: Peak, batch: int, accumulate: int) -> Memory:
        """With the values of a device's micro-batch, and the bytes of its batch."""
        return Memory(
            parameters=self.masters + self.copy,
            # In micro-batches there are sums, and the gradients of one.
            gradients=self.gradients + (self.sums if accumulate > 1 else 0),
            optimizer=self.optimizer,
            activations=int(found.kept) + batch,
            temporaries=int(found.during),
        )


def arrays_of(state: Any, placement: Placement, precision: Precision) -> Arrays:
    """Of the shapes of a state."""
    zero, mesh = placement.zero, placement.mesh
    places = placement.of_state(state, kept=True)
    used = jax.eval_shape(precision.cast, state.params)
    here = [_held(*both) for both in _pairs(state.params, places.params)]
    needed = [
        _held(*both) for both in _pairs(used, shardings(zero.params, placement.axes, used, mesh))
    ]
    of_gradients = shardings(zero.gradients, placement.axes, used, mesh)
    masters = sum(size for _, size in here)
    return Arrays(
        masters=masters,
        # A parameter that is there in the type and the part that a step needs is not copied.
        copy=sum(need[1] for have, need in zip(here, needed, strict=True) if have != need),
        gradients=bytes_of(used, of_gradients),
        sums=bytes_of(
            jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, jnp.float32), used), of_gradients
        ),
        optimizer=bytes_of(state, places) - masters,
        outside=sum(
            _held(x, place.sharding)[1]
            for x, place in _pairs(state, places)
            if isinstance(place, Outside)
        ),
    )


def memory_by_kind(
    program: Program, step: StepSettings, batch: Any, compiled: Any = None
) -> dict[str, int]:
    """Bytes of a program's step on one device; `batch` has arrays or their shapes."""
    placement = program.placement
    size = placement.mesh.size
    found = peak(jaxpr_of(program.advance, program.shapes, batch).jaxpr, whole_bytes)
    rows = jax.tree.map(lambda x: fitted(placement.rows(), x.shape), batch)
    share = Peak(*(each / size for each in found))
    arrays = arrays_of(program.shapes, placement, step.precision)
    memory = arrays.memory(share, bytes_of(batch, rows), step.accumulate)
    return (memory if compiled is None else memory.compiled(compiled.memory_analysis())).by_kind


def bytes_of(shapes: Any, places: Any) -> int:
    """Of one device's parts of arrays."""
    return sum(_held(*both)[1] for both in _pairs(shapes, places))


def whole_bytes(aval: Any) -> float:
    """Of a whole array."""
    return float(math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 8))


def _pairs(shapes: Any, places: Any) -> list[tuple[Any, Any]]:
    return list(zip(jax.tree.leaves(shapes), jax.tree.leaves(places), strict=True))


def _held(x: Any, place: Any) -> tuple[Any, int]:
    """The type and bytes of what a device has of an array; of one that is outside, of its copy."""
    is_outside = isinstance(place, Outside)
    dtype = place.used if is_outside else x.dtype
    if dtype is None:
        return None, 0
    sharding = place.sharding if is_outside else place
    return dtype, math.prod(sharding.shard_shape(tuple(x.shape))) * dtype.itemsize
