"""The best mixture by a law, within bounds, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from barrow.errors import ConfigError, nearest
from barrow.mix.design import within
from barrow.mix.law import Law, interval
from barrow.mix.runs import Array

_REPLICATES = 64  # whose mean is minimised, and whose own best mixtures give the interval


@dataclass(frozen=True)
class Recommendation:
    """Weights, with the interval of the best weights; the change of the objective and of every
    scored domain's loss against the current weights, with intervals.

    Without `is_supported` the interval of the objective's change includes 0, and `weights` are the
    current ones, moved within the bounds if they are not.
    """

    weights: Array
    low: Array
    high: Array
    objective: tuple[float, float, float]
    change: Array
    change_low: Array
    change_high: Array
    is_supported: bool


def objective_weights(law: Law, target: Mapping[str, float] | None) -> Array:
    """How much each scored domain counts, in sum 1; all the same without a target."""
    if target is None:
        return np.full(len(law.scored), 1 / len(law.scored))
    for name, weight in target.items():
        if name not in law.scored:
            raise ConfigError(f"target {name!r} is not scored; {nearest(name, law.scored)}")
        if weight < 0:
            raise ConfigError(f"target {name!r} must be ≥ 0, got {weight:g}")
    values = np.array([target.get(name, 0.0) for name in law.scored])
    if not values.sum():
        raise ConfigError("a target needs a domain with a weight > 0")
    return np.asarray(values / values.sum())


def recommend(
    law: Law,
    current: Array,
    *,
    floors: Array,
    ceilings: Array,
    target: Mapping[str, float] | None = None,
    max_loss: float | None = None,
) -> Recommendation:
    """Minimise the loss over the target, where no domain loses more than `max_loss`."""
    counts = objective_weights(law, target)
    start = within(current, floors, ceilings)
    best = _minimise(law, counts, start, floors, ceilings, slice(1, 1 + _REPLICATES), max_loss)
    each = np.stack(
        [
            best,
            *(
                _minimise(law, counts, best, floors, ceilings, slice(r, r + 1), max_loss)
                for r in range(1, min(1 + _REPLICATES, len(law.theta)))
            ),
        ]
    )
    low, high = interval(each)
    losses = law.predict(np.stack([current, best, start]))
    change = losses[:, 1] - losses[:, 0]
    gain = change @ counts
    gain_low, gain_high = interval(gain)
    is_supported = bool(gain_high < 0)
    if not is_supported:
        best, change = start, losses[:, 2] - losses[:, 0]
    change_low, change_high = interval(change)
    return Recommendation(
        best,
        low,
        high,
        (float(gain[0]), float(gain_low), float(gain_high)),
        change[0],
        change_low,
        change_high,
        is_supported,
    )


def _minimise(
    law: Law,
    counts: Array,
    start: Array,
    floors: Array,
    ceilings: Array,
    replicates: slice,
    max_loss: float | None,
) -> Array:
    from scipy.optimize import minimize

    def value(weights: Array) -> tuple[float, Array]:
        losses, slopes = law.slopes(weights, replicates)
        return float(losses @ counts), counts @ slopes

    constraints = [{"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones_like(p)}]
    if max_loss is not None:
        limit = law.slopes(start, replicates)[0] + max_loss
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda p: limit - law.slopes(p, replicates)[0],
                "jac": lambda p: -law.slopes(p, replicates)[1],
            }
        )
    found = minimize(
        value,
        start,
        jac=True,
        method="SLSQP",
        bounds=list(zip(floors, ceilings, strict=True)),
        constraints=constraints,
        options={"maxiter": 200, "ftol": 1e-9},
    )
    return within(np.clip(found.x, floors, ceilings), floors, ceilings)
