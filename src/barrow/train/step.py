"""The training step: a pure function (state, batch) → (state, metrics), compiled for a mesh.

Gradients are taken with respect to the parameters in the type of the computation, summed over
micro-batches in float32, and divided once by the weight (tokens) of the global batch: so a batch in
one piece, in micro-batches or over devices gives the same step, ragged rows or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import optax

from barrow.nn.tree import Tree
from barrow.parallel import num_row_shards
from barrow.train.loss_scale import LossScale, pick
from barrow.train.objective import Loss, Mean, Objective
from barrow.train.placement import Placement
from barrow.train.precision import Precision
from barrow.train.state import TrainState


@dataclass(frozen=True)
class StepSettings:
    """Precision; micro-batches; the global norm that gradients are clipped to; averages kept.

    `ema` is the share of the average that stays at each step (0.999), None for no average.
    """

    precision: Precision = field(default_factory=Precision)
    accumulate: int = 1
    clip: float | None = 1.0
    ema: float | None = None

    def __post_init__(self) -> None:
        if self.accumulate < 1:
            raise ValueError(f"accumulate is at least 1, not {self.accumulate}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"gradients are clipped to a norm above 0, not {self.clip}")
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"ema is a share between 0 and 1, not {self.ema}")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepMetrics:
    """What a step tells.

    `bad_tensor` is the place, among the leaves of the parameters, of the first gradient that is not
    finite, −1 where all are; such a step changes no parameter.
    """

    loss: Mean
    metrics: dict[str, Mean]
    grad_norm: jax.Array
    bad_tensor: jax.Array
    scale: jax.Array | None


Step = Callable[[TrainState, Any], tuple[TrainState, StepMetrics]]


def init_state(
    init: Callable[[jax.Array], Any],
    optimizer: optax.GradientTransformation,
    settings: StepSettings,
    key: jax.Array,
    *,
    collections: Any = None,
    placement: Placement | None = None,
) -> TrainState:
    """The state a run begins with; ``init(key)`` makes parameters, each straight into its shard."""

    def make(key: jax.Array) -> TrainState:
        of_params, of_run = jax.random.split(key)
        params = init(of_params)
        return TrainState(
            step=jnp.int32(0),
            params=params,
            collections=Tree() if collections is None else collections,
            optimizer=optimizer.init(params),
            key=of_run,
            scale=_start_scale(settings.precision),
            ema=None if settings.ema is None else jax.tree.map(jnp.copy, params),
        )

    if placement is None:
        return jax.jit(make)(key)  # type: ignore[no-any-return]
    shapes = jax.eval_shape(make, key)
    sharded = jax.jit(make, out_shardings=placement.of_state(shapes))
    return sharded(key)  # type: ignore[no-any-return]


def make_step(
    objective: Objective,
    optimizer: optax.GradientTransformation,
    settings: StepSettings,
    *,
    placement: Placement | None = None,
) -> Step:
    """The compiled step. The state it is given is used up; batches are pytrees of rows."""
    if settings.accumulate > 1 and not objective.is_sum_over_rows:
        raise ValueError(
            "this loss is not a sum over rows, so its batch cannot be split: accumulate=1"
        )
    precision = settings.precision

    def step(state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        used = precision.cast(state.params)
        if placement is not None:
            used = placement.laid(used, placement.zero.params)
        scale = None if state.scale is None else state.scale.scale
        key = jax.random.fold_in(state.key, state.step)
        loss, grads = _gradients(objective, precision, settings, used, state, batch, key, scale)
        if placement is not None:
            grads = placement.laid(grads, placement.zero.gradients)
        weight = jnp.where(loss.weight == 0, 1.0, loss.weight)
        grads = jax.tree.map(lambda g: g.astype(jnp.float32) / weight, grads)
        if placement is not None:
            grads = placement.laid(grads, placement.zero.masters)
        squares = jnp.stack([jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)])
        norm = jnp.sqrt(squares.sum())
        is_finite = jnp.isfinite(norm) & jnp.isfinite(loss.total)
        if settings.clip is not None:
            shrink = jnp.minimum(1.0, settings.clip / jnp.maximum(norm, 1e-30))
            grads = jax.tree.map(lambda g: g * shrink, grads)
        updates, optimizer_state = optimizer.update(grads, state.optimizer, state.params)
        params = optax.apply_updates(state.params, updates)
        after = replace(
            state,
            params=params,
            optimizer=optimizer_state,
            collections=loss.collections,
            ema=_averaged(state.ema, params, settings.ema),
        )
        after = pick(is_finite, after, state)
        if state.scale is not None:
            after = replace(after, scale=state.scale.after(is_finite, precision.scale))
        metrics = StepMetrics(
            loss=Mean(loss.total, loss.weight),
            metrics=dict(loss.metrics),
            grad_norm=norm,
            bad_tensor=jnp.where(is_finite, -1, jnp.argmin(jnp.isfinite(squares))),
            scale=scale,
        )
        return replace(after, step=state.step + 1), metrics

    compiled: dict[Any, Any] = {}

    def call(state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        kind = jax.tree.structure(batch), tuple(x.shape for x in jax.tree.leaves(batch))
        if kind not in compiled:
            refuse_bad_batch(batch, settings, placement)
            out = None
            if placement is not None:
                out = (placement.of_state(jax.eval_shape(lambda s: s, state)), None)
            compiled[kind] = jax.jit(step, donate_argnums=0, out_shardings=out)
        return compiled[kind](state, batch)  # type: ignore[no-any-return]

    return call


def refuse_bad_batch(batch: Any, settings: StepSettings, placement: Placement | None) -> None:
    """Raise unless a batch's rows can be divided as the settings and the mesh want."""
    rows = {x.shape[0] if x.ndim else 0 for x in jax.tree.leaves(batch)}
    if len(rows) != 1:
        raise ValueError(f"arrays of a batch differ in their number of rows: {sorted(rows)}")
    (num,) = rows
    parts = settings.accumulate * (1 if placement is None else num_row_shards(placement.mesh))
    if not num or num % parts:
        raise ValueError(
            f"a batch of {num} rows cannot be divided into {settings.accumulate} micro-batches"
            + ("" if placement is None else f" over {num_row_shards(placement.mesh)} devices")
        )


def _gradients(
    objective: Objective,
    precision: Precision,
    settings: StepSettings,
    used: Any,
    state: TrainState,
    batch: Any,
    key: jax.Array,
    scale: jax.Array | None,
) -> tuple[Loss, Any]:
    """The loss summed over micro-batches, and the gradient of its total."""

    def scaled(used: Any, collections: Any, rows: Any, key: jax.Array) -> tuple[jax.Array, Loss]:
        loss = objective.loss(precision.prepared(used), collections, rows, key)
        _refuse_shaped(loss)
        total = loss.total.astype(jnp.float32)
        # Float16 holds gradients of a scaled mean; those of a sum over all tokens would overflow.
        return total if scale is None else total * _raised(scale, loss), loss

    def take(used: Any, collections: Any, rows: Any, key: jax.Array) -> tuple[Any, Loss]:
        grads, loss = jax.grad(scaled, has_aux=True)(used, collections, rows, key)
        if scale is not None:
            factor = _raised(scale, loss)
            grads = jax.tree.map(lambda g: g.astype(jnp.float32) / factor, grads)
        return grads, loss

    if settings.accumulate == 1:
        grads, loss = take(used, state.collections, batch, key)
        return loss, grads
    # Row r goes to micro-batch r mod n: so each is spread over all devices.
    num = settings.accumulate
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
        return (sums, both), None

    keys = jax.random.split(key, num)
    first = jax.tree.map(lambda x: x[0], pieces)
    _, shapes = jax.eval_shape(take, used, state.collections, first, keys[0])
    start = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    start = replace(start, collections=state.collections)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), used)
    (grads, loss), _ = jax.lax.scan(one, (zeros, start), (pieces, keys))
    return loss, grads


def _refuse_shaped(loss: Loss) -> None:
    for name, value in (("total", loss.total), ("weight", loss.weight)):
        if jnp.shape(value) != ():
            raise ValueError(
                f"the {name} of a loss is one number, not of shape {jnp.shape(value)}: sum it"
            )


def _raised(scale: jax.Array, loss: Loss) -> jax.Array:
    weight = jax.lax.stop_gradient(loss.weight)
    return scale / jnp.where(weight == 0, 1.0, weight)


def _start_scale(precision: Precision) -> LossScale | None:
    return LossScale.start(precision.scale) if precision.is_scaled else None


def _averaged(ema: Any, params: Any, share: float | None) -> Any:
    if share is None:
        return None
    return jax.tree.map(lambda old, new: share * old + (1 - share) * new, ema, params)
