"""The held-out loss: exact totals over batches that are always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from barrow.train.objective import Mean, Objective
from barrow.train.placement import Placement
from barrow.train.precision import Precision
from barrow.train.state import TrainState

# (state, batches) → means by name; that of the loss is "loss".
Evaluate = Callable[[TrainState, Iterable[Any]], dict[str, Mean]]


def make_evaluate(objective: Objective, precision: Precision, placement: Placement) -> Evaluate:
    """The mean of a loss and of its metrics over batches, in the numbers of the computation.

    Totals and weights are added in float64 on the host, so that the mean is that of all tokens,
    however they were divided into batches.
    """

    @jax.jit
    def one(params: Any, collections: Any, batch: Any, key: jax.Array) -> dict[str, Mean]:
        used = placement.laid(precision.cast(params), placement.zero.params)
        loss = objective.loss(precision.prepared(used), collections, batch, key)
        return {"loss": Mean(loss.total, loss.weight), **loss.metrics}

    def evaluate(state: TrainState, batches: Iterable[Any]) -> dict[str, Mean]:
        parts = [one(state.params, state.collections, batch, state.key) for batch in batches]
        names = parts[0] if parts else ["loss"]
        return {name: _sum([part[name] for part in parts]) for name in names}

    return evaluate


def _sum(parts: list[Mean]) -> Mean:
    total = sum(float(part.total) for part in parts)
    weight = sum(float(part.weight) for part in parts)
    return Mean(np.float64(total), np.float64(weight))  # type: ignore[arg-type]
