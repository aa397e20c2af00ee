"""An objective: nats of each next token, and a weight that keeps the normaliser near 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from barrow.train import Loss, Mean, Objective


@dataclass(frozen=True)
class ZLoss:
    weight: float = 1e-4

    def __call__(self, model: Any, *, is_training: bool, constrain: Any) -> Objective:
        def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
            keys = {"dropout": key} if is_training else None
            logits, _ = model.apply(params, batch["tokens"], keys=keys, constrain=constrain)
            log_z = jax.nn.logsumexp(logits.astype(jnp.float32), axis=-1)
            said = jnp.take_along_axis(logits, batch["targets"][..., None], axis=-1)[..., 0]
            mask = batch["mask"].astype(jnp.float32)
            penalty, num = (mask * log_z**2).sum(), mask.sum()
            total = (mask * (log_z - said)).sum() + self.weight * penalty
            return Loss(total, num, {"z": Mean(penalty, num)}, collections)

        return Objective(loss)
