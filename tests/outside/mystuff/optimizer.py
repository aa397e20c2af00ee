"""An optimizer: the sign of the gradient."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import optax

from barrow.train import Constant, Schedule, decayed


@dataclass(frozen=True)
class SignDescent:
    """Every parameter moves by the learning rate, up or down."""

    schedule: Schedule = field(default_factory=Constant)
    weight_decay: float = 0.1

    def make(self, num_steps: int) -> optax.GradientTransformation:
        return optax.chain(
            optax.stateless(lambda grads, _: jax.tree.map(jnp.sign, grads)),
            optax.add_decayed_weights(self.weight_decay, mask=decayed),
            optax.scale_by_learning_rate(lambda step: self.schedule.rate(step, num_steps)),
        )
