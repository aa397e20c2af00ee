"""Gradients of the total of a loss over a batch, in one piece or in micro-batches.

They are taken with respect to the parameters in the type of the computation, sharded by the ZeRO
stage, and summed over micro-batches in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.parallel.placement import Placement
from barrow.train.objectives.objective import Loss, Objective
from barrow.train.precision import Precision

# (parameters in use, collections, rows, key) → (gradient of the total, loss)
Take = Callable[[Any, Any, Any, jax.Array], tuple[Any, Loss]]


def params_in_use(masters: Any, precision: Precision, placement: Placement | None) -> Any:
    """Parameters in the type of the computation, sharded by the ZeRO stage."""
    used = precision.cast(masters)
    if placement is None:
        return used
    # Cast before gathering: gathering float32 would move twice the bytes.
    used = placement.sharded(used, placement.zero.masters)
    return placement.sharded(used, placement.zero.params)


def take_gradient(
    objective: Objective,
    precision: Precision,
    placement: Placement | None,
    scale: jax.Array | None,
) -> Take:
    """The gradient function of one micro-batch; `scale` is the loss scale of float16, else None."""

    def scaled(used: Any, collections: Any, rows: Any, key: jax.Array) -> tuple[jax.Array, Loss]:
        loss = objective.loss(precision.prepared(used), collections, rows, key)
        _refuse_shaped(loss)
        total = loss.total.astype(jnp.float32)
        # Float16 can hold gradients of a scaled mean; those of a sum over all tokens would
        # overflow.
        return total if scale is None else total * raised(scale, loss), loss

    def take(used: Any, collections: Any, rows: Any, key: jax.Array) -> tuple[Any, Loss]:
        grads, loss = jax.grad(scaled, has_aux=True)(used, collections, rows, key)
        grads = _sharded(grads, placement)
        if scale is not None:
            factor = raised(scale, loss)
            grads = jax.tree.map(lambda g: g.astype(jnp.float32) / factor, grads)
        return grads, loss

    return take


def gradients(
    take: Take,
    used: Any,
    collections: Any,
    batch: Any,
    key: jax.Array,
    *,
    num: int,
    placement: Placement | None,
) -> tuple[Loss, Any]:
    """The loss summed over `num` micro-batches, and the gradient of its total."""
    if num == 1:
        grads, loss = take(used, collections, batch, key)
        return loss, grads
    take = jax.jit(take, inline=True)  # traced once: for its shapes, and for the loop
    # Row r goes to micro-batch r mod n, so each is spread over all devices.
    pieces = jax.tree.map(
        lambda x: jnp.moveaxis(x.reshape(x.shape[0] // num, num, *x.shape[1:]), 1, 0), batch
    )

    def one(held: tuple[Any, Loss], part: tuple[Any, jax.Array]) -> tuple[tuple[Any, Loss], None]:
        sums, before = held
        grads, loss = take(used, before.collections, part[0], part[1])
        sums = jax.tree.map(lambda a, b: a + b.astype(jnp.float32), sums, grads)
        both = Loss(
            before.total + loss.total,
            before.weight + loss.weight,
            jax.tree.map(jnp.add, before.metrics, loss.metrics),
            loss.collections,
        )
        return (_sharded(sums, placement), both), None

    keys = jax.random.split(key, num)
    first = jax.tree.map(lambda x: x[0], pieces)
    _, shapes = jax.eval_shape(take, used, collections, first, keys[0])
    start = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    start = replace(start, collections=collections)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), used)
    (grads, loss), _ = jax.lax.scan(one, (_sharded(zeros, placement), start), (pieces, keys))
    return loss, grads


def _sharded(grads: Any, placement: Placement | None) -> Any:
    return grads if placement is None else placement.sharded(grads, placement.zero.gradients)


def _refuse_shaped(loss: Loss) -> None:
    for name, value in (("total", loss.total), ("weight", loss.weight)):
        if jnp.shape(value) != ():
            raise ValueError(
                f"the {name} of a loss must be a scalar, got shape {jnp.shape(value)}: sum it"
            )


def raised(scale: jax.Array, loss: Loss) -> jax.Array:
    """What the total of a loss is multiplied by, so that its mean is scaled."""
    weight = jax.lax.stop_gradient(loss.weight)
    return scale / jnp.where(weight == 0, 1.0, weight)
