"""Rotary positions: pairs of a head's numbers are rotated by an angle that grows with position."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class RopeScaling:
    """Llama 3's scaling to longer contexts: low frequencies are divided by `factor`.

    A frequency is low if it rotates fewer than `low` times within the `original` context, high if
    more than `high` times; between them it is interpolated. ``low == high == 0`` divides all
    ("linear" scaling).
    """

    factor: float
    low: float = 0.0
    high: float = 0.0
    original: int = 0


@dataclass(frozen=True)
class Rotary:
    """Angle position · base^(−2i/dim) for pair i; pairs are (i, i + dim/2) of the first `dim`.

    - `base`: of the angles; `stretch`: scaling to longer contexts, or None.
    - `dim`: the part of a head that is rotated; None for all of it, Pythia rotates a quarter.
    """

    base: float = 10_000.0
    dim: int | None = None
    stretch: RopeScaling | None = None

    def frequencies(self, head_dim: int) -> np.ndarray:
        """Radians per position of every pair, float64."""
        dim = head_dim if self.dim is None else self.dim
        if dim % 2 or not 0 < dim <= head_dim:
            raise ValueError(f"rotary dim must be even and at most head_dim {head_dim}, got {dim}")
        plain = self.base ** (-np.arange(0, dim, 2, dtype=np.float64) / dim)
        if self.stretch is None:
            return plain
        slowed = plain / self.stretch.factor
        if self.stretch.high == self.stretch.low:
            return slowed
        turns = self.stretch.original * plain / (2 * math.pi)
        share = (turns - self.stretch.low) / (self.stretch.high - self.stretch.low)
        share = np.clip(share, 0.0, 1.0)
        return np.asarray(share * plain + (1 - share) * slowed)

    def __call__(self, x: jax.Array, positions: jax.Array) -> jax.Array:
        """Rotate x [batch, length, heads, head_dim] by its positions [batch, length].

        Angles are float32 whatever x is: positions past 256 are not exact in bfloat16.
        """
        frequencies = jnp.asarray(self.frequencies(x.shape[-1]), jnp.float32)
        half = frequencies.shape[0]
        angles = positions.astype(jnp.float32)[..., None, None] * frequencies
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        first, second, rest = jnp.split(x, [half, 2 * half], axis=-1)
        first32, second32 = first.astype(jnp.float32), second.astype(jnp.float32)
        turned = [first32 * cos - second32 * sin, second32 * cos + first32 * sin]
        return jnp.concatenate([*(part.astype(x.dtype) for part in turned), rest], axis=-1)
