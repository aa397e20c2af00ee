"""Memory of a step on one device, by kind.

State and batch are exact, from shapes and shardings. What the program allocates besides is known
as one number from the compiler; gradients are exact, activations are what the backward pass reads
of the forward pass (by the equations; a compiler may keep less), and temporaries are the rest.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.abstract import jaxpr_of
from barrow.nn.flops import inner_jaxprs
from barrow.parallel import fitted, shardings
from barrow.parallel.offload import Outside
from barrow.train.program import Program
from barrow.train.step import StepSettings


def memory_by_kind(
    program: Program, step: StepSettings, batch: Any, compiled: Any = None
) -> dict[str, int]:
    """Bytes on one device; `batch` has arrays or their shapes.

    Without the `compiled` step, activations are those of the equations and temporaries unknown.
    """
    shapes, places, placement = program.shapes, program.shardings, program.placement
    in_use = jax.eval_shape(step.precision.cast, shapes.params)
    if step.accumulate > 1:
        in_use = jax.eval_shape(lambda tree: jax.tree.map(jnp.float32, tree), in_use)
    gradient_places = shardings(placement.zero.gradients, placement.axes, in_use, placement.mesh)
    rows = jax.tree.map(lambda x: fitted(placement.rows(), x.shape), batch)
    rest = [(x, p) for x, p in ((shapes.ema, places.ema), (shapes.collections, places.collections))]
    found = {
        "parameters": _bytes(shapes.params, places.params),
        "optimizer": _bytes(shapes.optimizer, places.optimizer),
        "averages and collections": sum(_bytes(x, p) for x, p in rest),
        "batch": _bytes(batch, rows),
        "gradients": _bytes(in_use, gradient_places),
    }
    equations = jaxpr_of(program.advance, shapes, batch).jaxpr
    saved = _saved(equations) // placement.mesh.size
    if compiled is None:
        return found | {"activations": saved}
    left = int(compiled.memory_analysis().temp_size_in_bytes)
    found["gradients"] = min(found["gradients"], left)
    left -= found["gradients"]
    return found | {"activations": min(saved, left), "temporaries": left - min(saved, left)}


def _bytes(shapes: Any, places: Any) -> int:
    """Of one device's shards; of what is offloaded (an `Outside`) only its copy, if it has one."""

    def one(x: Any, place: Any) -> int:
        is_outside = isinstance(place, Outside)
        kind = place.used if is_outside else x.dtype
        if kind is None:
            return 0
        sharding = place.sharding if is_outside else place
        size: int = math.prod(sharding.shard_shape(tuple(x.shape))) * getattr(kind, "itemsize", 8)
        return size

    return sum(map(one, jax.tree.leaves(shapes), jax.tree.leaves(places)))


def _saved(jaxpr: Any) -> int:
    """Bytes that equations of the forward pass make and equations of the backward pass read."""
    made: dict[int, Any] = {}
    saved: dict[int, int] = {}
    inside = 0
    for equation in jaxpr.eqns:
        names = {entry.name for entry in equation.source_info.name_stack.stack}
        if "transpose" in names:
            for one in equation.invars:
                if id(one) in made:
                    saved[id(one)] = one.aval.size * getattr(one.aval.dtype, "itemsize", 8)
        else:
            made |= {id(one): one for one in equation.outvars}
        inside = max([inside, *map(_saved, inner_jaxprs(equation))])
    return sum(saved.values()) + inside
