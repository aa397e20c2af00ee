"""A loss of preferences: a hinge on the difference of log ratios (SLiC)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from barrow.align import preference_objective
from barrow.train import Mean, Objective


@dataclass(frozen=True)
class Hinge:
    beta: float = 0.1

    def __call__(self, model: Any, *, is_training: bool, constrain: Any) -> Objective:
        def loss(chosen: jax.Array, rejected: jax.Array, mask: jax.Array) -> Mean:
            losses = jax.nn.relu(1 - self.beta * (chosen - rejected))
            return Mean((losses * mask).sum(), mask.sum())

        return preference_objective(model, loss, constrain=constrain)
