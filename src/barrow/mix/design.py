"""Which mixtures to try: a spread of weights around a prior.

Weights are drawn from a Dirichlet distribution by a Latin hypercube: the runs divide the quantiles
of every domain evenly, so each domain is seen high, low and at zero. No weight asks for more than
its ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from barrow.errors import ConfigError
from barrow.mix.runs import Array

_TEMPER = 0.5  # power of the prior: between uniform (0) and the prior itself (1)
_CONCENTRATION = 0.5  # of the Dirichlet distribution, per domain; small ones are sparse
_OUT = 0.15  # of the runs leave a domain out


def propose(prior: Array, number: int, *, ceilings: Array, seed: int = 0) -> Array:
    """Weights by run and domain; the same seed proposes the same."""
    from scipy.stats import gamma, qmc

    tempered = prior**_TEMPER
    shapes = _CONCENTRATION * len(prior) * tempered / tempered.sum()
    rng = np.random.default_rng(seed)
    quantiles = qmc.LatinHypercube(len(prior), rng=rng).random(number)
    amounts = gamma.ppf(quantiles, shapes)
    amounts[(quantiles < _OUT) & (quantiles < quantiles.max(axis=1, keepdims=True))] = 0
    weights = amounts / amounts.sum(axis=1, keepdims=True)
    return np.stack([within(row, np.zeros_like(prior), ceilings) for row in weights])


def within(weights: Array, floors: Array, ceilings: Array) -> Array:
    """Weights within bounds, in sum 1: all are scaled by one factor and then clipped."""
    low, high = 0.0, 1.0
    positive = np.maximum(weights, 1e-12)  # zeros grow only where the ceilings of others want it
    while np.clip(positive * high, floors, ceilings).sum() < 1:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if np.clip(positive * middle, floors, ceilings).sum() < 1:
            low = middle
        else:
            high = middle
    found = np.clip(positive * high, floors, ceilings)
    return np.where(found < 1e-9, 0.0, found)


def bounds(
    domains: Sequence[str],
    *,
    floors: Mapping[str, float],
    ceilings: Mapping[str, float],
    tokens: Mapping[str, float] | None = None,
    budget: float = 0,
    max_epochs: float = 4,
) -> tuple[Array, Array]:
    """The lowest and highest weight of every domain, where `budget` tokens read no domain of
    `tokens` more than `max_epochs` times.
    """
    for name, weight in [*floors.items(), *ceilings.items()]:
        if name not in domains:
            raise ConfigError(f"{name}: no such domain; there are {', '.join(domains)}")
        if not 0 <= weight <= 1:
            raise ConfigError(f"{name}: a bound must be between 0 and 1, got {weight:g}")
    low = np.array([floors.get(name, 0.0) for name in domains])
    high = np.array([ceilings.get(name, 1.0) for name in domains])
    if tokens is not None and budget:
        limit = np.array([max_epochs * tokens[name] / budget for name in domains])
        high = np.minimum(high, limit)
    for name, floor, ceiling in zip(domains, low, high, strict=True):
        if floor > ceiling:
            raise ConfigError(
                f"{name}: the floor is {floor:g}, but at most {ceiling:.4g} is possible: "
                "lower the floor, raise the ceiling or max_epochs, or train on fewer tokens"
            )
    if low.sum() > 1:
        asked = ", ".join(f"{name}={weight:g}" for name, weight in floors.items())
        raise ConfigError(f"floors must sum to ≤ 1, got {low.sum():.4g} ({asked})")
    if high.sum() < 1:
        raise ConfigError(
            f"ceilings must sum to ≥ 1, got {high.sum():.4g}: raise them or max_epochs, or "
            "train on fewer tokens"
        )
    return low, high
