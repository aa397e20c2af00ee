"""Learning rates by step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np


class Schedule(Protocol):
    """A learning rate by step: a frozen dataclass with its numbers."""

    def rate(self, step: Any, num_steps: int) -> Any:
        """The rate of a step of a run of so many.

        `step` is an array inside a compiled program, or a NumPy number, for which the rate is
        computed on the host.
        """
        ...


@dataclass(frozen=True)
class _Warmed(ABC):
    """A rate that rises linearly over `warmup` steps to `peak`; what follows is a share of it.

    - `peak`: the highest learning rate; `warmup`: steps of the rise; below 1, a share of all.
    - `end`: the rate at the end, as a share of the peak; `decay`: the share of steps that fall.
    """

    peak: float = 3e-4
    warmup: int | float = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.peak) or self.peak < 0:
            raise ValueError(f"a learning rate must be ≥ 0, got {self.peak}")
        if self.warmup < 0 or (isinstance(self.warmup, float) and not self.warmup < 1):
            raise ValueError(
                f"warmup must be steps, ≥ 0, or a share of them below 1, got {self.warmup}"
            )
        for name in ("end", "decay"):
            share = getattr(self, name, 1)
            if not 0 <= share <= 1 or (name, share) == ("decay", 0):
                raise ValueError(f"{name} must be a share between 0 and 1, got {share}")

    def rate(self, step: Any, num_steps: int) -> Any:
        """See `Schedule`."""
        xp: Any = np if isinstance(step, np.generic) else jnp
        at = xp.asarray(step, xp.float32)
        is_share = isinstance(self.warmup, float)
        warmup = math.ceil(self.warmup * num_steps) if is_share else self.warmup
        rise = xp.minimum(1.0, (at + 1) / max(1, warmup))
        done = xp.clip((at - warmup) / max(1, num_steps - warmup), 0.0, 1.0)
        return self.peak * rise * self._height(done, xp)

    @abstractmethod
    def _height(self, done: Any, xp: Any) -> Any:
        """The share of the peak where a share of the steps after the warm-up is done."""


@dataclass(frozen=True)
class Constant(_Warmed):
    """Flat."""

    def _height(self, done: Any, xp: Any) -> Any:
        del done
        return xp.ones(())


@dataclass(frozen=True)
class Cosine(_Warmed):
    """Half a cosine down to peak · `end`."""

    end: float = 0.1

    def _height(self, done: Any, xp: Any) -> Any:
        return self.end + (1 - self.end) * 0.5 * (1 + xp.cos(xp.pi * done))


@dataclass(frozen=True)
class Linear(_Warmed):
    """Linear decay to peak · `end`."""

    end: float = 0.1

    def _height(self, done: Any, xp: Any) -> Any:
        del xp
        return 1 - (1 - self.end) * done


@dataclass(frozen=True)
class WarmupStableDecay(_Warmed):
    """Flat, then linear decay to peak · `end` over the last `decay` share of the steps."""

    end: float = 0.1
    decay: float = 0.2

    def _height(self, done: Any, xp: Any) -> Any:
        falling = xp.clip((done - (1 - self.decay)) / self.decay, 0.0, 1.0)
        return 1 - (1 - self.end) * falling
