"""Loss scaling for float16, which keeps small gradients from underflowing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class ScaleSettings:
    """The scale of the loss: it doubles after finite steps, and an overflow halves it.

    - `start`: the first scale; `growth_every`: finite steps before it doubles; `floor`: the least.
    - `hysteresis`: the overflow in a row that halves it first: 1 is the usual rule, 2 DeepSpeed's.
    """

    start: float = 65536.0
    growth_every: int = 2000
    hysteresis: int = 1
    floor: float = float(jnp.finfo(jnp.float32).tiny)

    def __post_init__(self) -> None:
        if not 0 < self.floor <= self.start < math.inf:
            raise ValueError(
                f"start must be ≥ floor > 0, got start {self.start} and floor {self.floor}"
            )
        if self.growth_every < 1 or self.hysteresis < 1:
            raise ValueError(
                f"growth_every and hysteresis must be ≥ 1, got {self.growth_every} and "
                f"{self.hysteresis}"
            )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LossScale:
    """The scale now, finite steps since it last changed, and overflows left before it halves."""

    scale: jax.Array
    num_finite: jax.Array
    left: jax.Array

    @classmethod
    def start(cls, settings: ScaleSettings) -> LossScale:
        """At the start of training."""
        return cls(jnp.float32(settings.start), jnp.int32(0), jnp.int32(settings.hysteresis))

    def after(self, is_finite: jax.Array, settings: ScaleSettings) -> LossScale:
        """After a step whose gradients were finite or not."""
        num = self.num_finite + 1
        grown = num >= settings.growth_every
        fine = LossScale(
            jnp.where(grown, self.scale * 2, self.scale),
            jnp.where(grown, 0, num),
            jnp.full_like(self.left, settings.hysteresis),
        )
        halved = self.left <= 1
        overflowed = LossScale(
            jnp.where(halved, jnp.maximum(self.scale / 2, settings.floor), self.scale),
            jnp.zeros_like(self.num_finite),
            jnp.where(halved, self.left, self.left - 1),
        )
        after: LossScale = pick(is_finite, fine, overflowed)
        return after


def pick(condition: jax.Array, yes: Any, no: Any) -> Any:
    """One of two trees of equal shape."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
