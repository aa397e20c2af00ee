"""Laws with known parameters, and runs that follow them with noise."""

from __future__ import annotations

import numpy as np

from barrow.mix import Runs, propose
from barrow.mix.law import Law


def planted_law(num_domains: int, *, seed: int) -> Law:
    rng = np.random.default_rng(seed)
    shape = (num_domains, num_domains)
    transfer = np.where(np.eye(num_domains) > 0, 1.0, rng.uniform(0.001, 0.15, shape))
    floor, scale, power = (
        rng.uniform(low, high, (num_domains, 1))
        for low, high in ((0.5, 1.5), (0.3, 0.8), (0.1, 0.4))
    )
    theta = np.log(np.concatenate([floor, scale, power, transfer], axis=1))
    names = tuple("abcdefghijklmnop"[:num_domains])
    return Law(names, names, 1e6, theta[None])


def planted_runs(law: Law, number: int, *, noise: float, seed: int) -> Runs:
    rng = np.random.default_rng(seed)
    size = len(law.domains)
    weights = propose(np.full(size, 1 / size), number, ceilings=np.ones(size), seed=seed)
    losses = law.predict(weights)[0] + noise * rng.standard_normal((number, len(law.scored)))
    names = tuple(map(str, range(number)))
    return Runs(names, np.full(number, law.params), law.domains, weights, law.scored, losses)
