"""What routers of experts add to a loss, and to its metrics."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.tree import paths
from barrow.train.objectives.objective import Mean


def with_routers(
    nats: jax.Array, collected: Any, row_weights: jax.Array
) -> tuple[jax.Array, dict[str, Mean]]:
    """The total of a loss with what routers add to it, and metrics; none without routers.

    `collected` is the collection `nn.layers.experts.ROUTER`. A row counts by its weight (its tokens
    with a target), as it does in the loss; layers count equally.

    - `nats`: the loss without this; `balance`, `router_z`: see `nn.Experts`.
    - `dropped`: the share of the choices of tokens for which an expert had no room.
    - `busiest`: the share of all choices that chose the same expert.
    """
    found: dict[str, list[jax.Array]] = {}
    for path, value in paths(collected).items():
        found.setdefault(path.rpartition("/")[2], []).append(value)
    if not found:
        return nats, {}
    # [layers, rows], loads [layers, rows, experts]; a layer that is not repeated lacks the first.
    of = {
        name: jnp.concatenate([x.reshape(-1, *x.shape[-1 - (name == "load") :]) for x in values])
        for name, values in found.items()
    }
    weight = row_weights.sum()

    def mean(name: str) -> jax.Array:
        return (of[name].mean(axis=0) * row_weights).sum()

    loads = of["load"].sum(axis=1)
    busiest = (loads.max(axis=-1) / jnp.maximum(loads.sum(axis=-1), 1.0)).mean()
    dropped, kept = of["dropped"].sum(), of["kept"].sum()
    metrics = {
        "nats": Mean(nats, weight),
        "balance": Mean(mean("balance"), weight),
        "router_z": Mean(mean("z"), weight),
        "dropped": Mean(dropped, dropped + kept),
        "busiest": Mean(busiest * weight, weight),
    }
    return nats + mean("penalty"), jax.lax.stop_gradient(metrics)
