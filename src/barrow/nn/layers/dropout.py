"""Dropout."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class Dropout(Module):
    """Each number becomes 0 with probability `rate`, else is divided by 1 − rate.

    Random with a key of the stream "dropout", the identity without one. Along the dimensions in
    `broadcast` all numbers are dropped together.
    """

    rate: float
    broadcast: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ValueError(f"Dropout: rate must be ≥ 0 and < 1, got {self.rate}")

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """The shape and type of x."""
        key = scope.key("dropout") if self.rate else None
        if key is None:
            return x
        dims = {dim % x.ndim for dim in self.broadcast}
        shape = tuple(1 if dim in dims else size for dim, size in enumerate(x.shape))
        keep = jax.random.bernoulli(key, 1 - self.rate, shape)
        return jnp.where(keep, x / (1 - self.rate), jnp.zeros_like(x))
