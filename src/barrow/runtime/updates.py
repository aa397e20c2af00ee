"""Compiled updates for each kind of state: pytrees, a TrainState of Flax or of barrow, flax.nnx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from barrow.errors import ConfigError
from barrow.nn.tree import Tree
from barrow.parallel.placement import Placement
from barrow.runtime import parts
from barrow.runtime.gradient import as_mean, num_rows
from barrow.train.loss_scale import LossScale, pick
from barrow.train.objectives.objective import Loss, Mean, Objective
from barrow.train.precision import Precision
from barrow.train.state import TrainState
from barrow.train.step import StepSettings, make_step


def foreign_update(
    take: Callable[..., Any], state: Any, optimizer: Any, precision: Precision, *, has_aux: bool
) -> Any:
    """(arrays of the state, batch, scale) → (arrays, metrics, scale); of flax.nnx, on objects.

    ``take(model, batch, scale=…)`` is the value and the gradient. With a scale, an update whose
    gradient is not finite changes nothing but the scale.
    """
    nnx, is_flax = parts.nnx_of(state), hasattr(state, "apply_gradients")
    if nnx is None and not is_flax and optimizer is None:
        raise ValueError("pass optimizer=…, whose state this is; only states of Flax have one")

    def gradient(model: Any, batch: Any, scale: LossScale | None) -> Any:
        found, grads = take(model, batch, scale=None if scale is None else scale.scale)
        value, aux = found if has_aux else (found, {})
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
        metrics = {"loss": value, "grad_norm": norm}
        metrics |= aux if isinstance(aux, dict) else {"aux": aux}
        if scale is None:
            return grads, metrics, None, None
        is_fine = jnp.isfinite(norm) & jnp.isfinite(value)
        metrics |= {"loss_scale": scale.scale, "skipped": ~is_fine}
        return grads, metrics, is_fine, scale.after(is_fine, precision.scale)

    def of_objects(pair: Any, batch: Any, scale: Any) -> Any:
        before = jax.tree.map(lambda x: x, nnx.state(pair))  # the objects themselves will change
        grads, metrics, is_fine, scale = gradient(pair[0], batch, scale)
        pair[1].update(pair[0], grads)
        if is_fine is not None:
            nnx.update(pair, pick(is_fine, nnx.state(pair), before))
        return metrics, scale

    def of_tree(arrays: Any, batch: Any, scale: Any) -> tuple[Any, Any, Any]:
        given = parts.with_arrays(state, arrays)
        model = given.params if is_flax else given[0]
        grads, metrics, is_fine, scale = gradient(model, batch, scale)
        if is_flax:
            after = given.apply_gradients(grads=grads)
        else:
            params, rest = parts.split(model, parts.is_trained)
            updates, moments = optimizer.update(grads, given[1], params)
            model = parts.join(optax.apply_updates(params, updates), rest)
            after = parts.arrays_of((model, moments))
        return (after if is_fine is None else pick(is_fine, after, arrays)), metrics, scale

    return jax.jit(of_tree, donate_argnums=0) if nnx is None else nnx.jit(of_objects)


def own_update(
    loss: Any,
    state: TrainState,
    optimizer: Any,
    settings: StepSettings,
    placement: Placement,
    *,
    has_aux: bool,
) -> Any:
    """(state, batch) → (state, metrics) by the step of `barrow.train`."""
    if optimizer is None:
        raise ValueError("pass optimizer=…, whose state this is; only states of Flax have one")
    if state.ema is not None:
        raise ConfigError("a state with averages needs train.make_step, which knows their share")
    if settings.precision.name == "fp8" and not isinstance(state.params, Tree):
        raise ConfigError("fp8 needs a model of barrow.nn, whose products go through nn.dot")
    objective = loss if isinstance(loss, Objective) else Objective(_sum_of(loss, has_aux=has_aux))
    step = make_step(objective, optimizer, settings, placement=placement)

    def update(state: TrainState, batch: Any) -> tuple[TrainState, dict[str, Any]]:
        after, found = step(state, batch)
        metrics = {"loss": found.loss.value, "grad_norm": found.grad_norm}
        metrics |= {name: mean.value for name, mean in found.metrics.items()}
        if found.scale is not None:
            metrics |= {"loss_scale": found.scale, "skipped": found.bad_tensor != -1}
        return after, metrics

    return update


def mean_of(loss: Any, state: Any) -> Callable[..., Any]:
    """An objective of barrow as ``loss(params, batch)``; any other loss as it is."""
    if not isinstance(loss, Objective):
        return loss  # type: ignore[no-any-return]

    def mean(params: Any, batch: Any) -> Mean:
        found = loss.loss(params, state.collections, batch, state.key)
        return Mean(found.total, found.weight)

    return mean


def _sum_of(loss: Callable[..., Any], *, has_aux: bool) -> Any:
    """``loss(params, batch)``, a mean over rows, as a total."""

    def total(params: Any, collections: Any, batch: Any, _: jax.Array) -> Loss:
        rows = num_rows(batch) or 1
        value, aux = loss(params, batch) if has_aux else (loss(params, batch), {})
        mean = as_mean(value, rows)
        metrics = {name: as_mean(x, rows) for name, x in aux.items()}
        return Loss(mean.total, mean.weight, metrics, collections)

    return total
