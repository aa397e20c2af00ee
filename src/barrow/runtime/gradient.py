"""The mean of a loss over the rows of a batch, and its gradient, on all devices.

Rows that the devices do not divide evenly are divided by the compiler, which counts each once: a
batch is never padded here. Micro-batches are added as totals and weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.parallel.placement import Placement
from barrow.train.gradients import gradients, params_in_use, raised
from barrow.train.objectives.objective import Loss, Mean
from barrow.train.precision import Precision


def mean_and_gradient(
    loss: Callable[..., tuple[Any, Any, Any]],
    params: Any,
    carried: Any,
    batch: Any,
    *,
    precision: Precision,
    accumulate: int,
    placement: Placement,
    scale: jax.Array | None = None,
) -> tuple[jax.Array, Any, Any, Any]:
    """The mean loss, aux, its gradient in the parameters' types, and what is carried at the end.

    ``loss(params, carried, *batch)`` gives the mean over rows (or a `Mean`), aux, and carried.
    `scale` is of the loss, with fp16.
    """
    leaves, tree = jax.tree.flatten(batch)
    rows = {i: x for i, x in enumerate(leaves) if has_rows(x)}
    num = num_rows(batch)
    if num is None and accumulate > 1:
        raise ValueError("accumulate > 1 needs a loss that takes its batch: loss(model, batch)")
    main = (num or 0) // accumulate * accumulate
    pieces = [(0, main, accumulate)] if main else []
    pieces += [(main, num or 0, 1)] if main != num else []

    def take(used: Any, carried: Any, part: Any, key: jax.Array) -> tuple[Any, Loss]:
        given = [
            part[i] if i in part else _of_piece(x, key, accumulate) for i, x in enumerate(leaves)
        ]
        given = jax.tree.unflatten(tree, [_cast(x, precision) for x in given])
        weight = num_rows(part) or 1

        def total(used: Any) -> tuple[jax.Array, Loss]:
            mean, aux, after = loss(used, carried, *given)
            mean = as_mean(mean, weight)
            if accumulate > 1:
                aux = jax.tree.map(lambda x: _number(x) * mean.weight, aux)
            found = Loss(mean.total.astype(jnp.float32), mean.weight, {"aux": aux}, after)
            return found.total * (1 if scale is None else raised(scale, found)), found

        grads, found = jax.grad(total, has_aux=True)(used)
        if scale is not None:
            factor = raised(scale, found)
            grads = jax.tree.map(lambda g: g.astype(jnp.float32) / factor, grads)
        return placement.sharded(grads, placement.zero.gradients), found

    used = params_in_use(params, precision, placement)
    total, weight = jnp.float32(0), jnp.float32(0)
    sums: Any = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), params)
    aux: Any = None
    for number, (start, stop, times) in enumerate(pieces):
        cut = {i: x[start:stop] for i, x in rows.items()}
        part = jax.lax.with_sharding_constraint(cut, placement.rows())
        key = jax.random.key(number)
        one, grads = gradients(take, used, carried, part, key, num=times, placement=placement)
        total, weight, carried = total + one.total, weight + one.weight, one.collections
        sums = jax.tree.map(jnp.add, sums, grads)
        more = one.metrics["aux"]
        aux = more if aux is None else jax.tree.map(jnp.add, aux, more)
    weight = jnp.where(weight == 0, 1.0, weight)
    grads = jax.tree.map(lambda g, p: (g / weight).astype(p.dtype), sums, params)
    if accumulate > 1:
        aux = jax.tree.map(lambda x: x / weight, aux)
    return total / weight, aux, placement.sharded(grads, placement.zero.masters), carried


def as_mean(value: Any, rows: int) -> Mean:
    """What a loss returned, the mean over so many rows, as a total and a weight."""
    mean: Mean = value
    if not isinstance(value, Mean):
        mean = Mean(jnp.asarray(value, jnp.float32) * rows, jnp.float32(rows))
    if jnp.shape(mean.total) != ():
        raise ValueError(
            f"a loss must be a number, the mean over rows, got the shape "
            f"{jnp.shape(mean.total)}: return its mean, or train.Mean(total, weight)"
        )
    return mean


def has_rows(x: Any) -> bool:
    """Whether a leaf of a batch is an array of rows; keys and numbers are not."""
    return len(getattr(x, "shape", ())) > 0


def num_rows(batch: Any) -> int | None:
    """Rows of a batch: the first dimension of its arrays; None if it has no arrays."""
    found = jax.tree_util.tree_leaves_with_path(batch)
    shapes = {jax.tree_util.keystr(path): np.shape(x) for path, x in found if has_rows(x)}
    counts = {shape[0] for shape in shapes.values()}
    if len(counts) > 1:
        raise ValueError(
            f"all arrays of a batch must have the same number of rows, got {shapes}; pass random "
            "keys as jax.random.key makes them"
        )
    return counts.pop() if counts else None


def _of_piece(x: Any, key: jax.Array, accumulate: int) -> Any:
    """What all micro-batches share; of a random key each has its own."""
    is_key = hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
    return jax.random.fold_in(x, jax.random.bits(key)) if is_key and accumulate > 1 else x


def _cast(x: Any, precision: Precision) -> Any:
    is_cast = has_rows(x) and jnp.issubdtype(x.dtype, jnp.floating) and precision.name != "fp32"
    return x.astype(precision.dtype) if is_cast else x


def _number(x: Any) -> Any:
    if jnp.shape(x) != ():
        raise ValueError(
            f"with accumulate > 1 aux must be numbers, which are averaged, got the shape "
            f"{jnp.shape(x)}"
        )
    return x
