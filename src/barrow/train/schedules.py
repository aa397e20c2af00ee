"""Learning rates by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Schedule:
    """A learning rate that rises linearly over `warmup` steps to `peak`, then goes by its kind.

    cosine   half a cosine down to peak · `end`
    linear   a straight line down to it
    wsd      flat, then a straight line over the last `decay` share of the steps
    constant flat
    """

    peak: float = 3e-4
    kind: Literal["cosine", "linear", "wsd", "constant"] = "cosine"
    warmup: int = 0
    end: float = 0.1
    decay: float = 0.2

    def __post_init__(self) -> None:
        if not math.isfinite(self.peak) or self.peak < 0:
            raise ValueError(f"a learning rate is a number of at least 0, not {self.peak}")
        if self.kind not in ("cosine", "linear", "wsd", "constant"):
            raise ValueError(f"no schedule {self.kind!r}: cosine, linear, wsd or constant")
        if self.warmup < 0:
            raise ValueError(f"warmup is a number of steps, at least 0, not {self.warmup}")
        if not 0 <= self.end <= 1:
            raise ValueError(f"end is a share of the peak between 0 and 1, not {self.end}")
        if not 0 < self.decay <= 1:
            raise ValueError(f"decay is a share of the steps above 0, at most 1, not {self.decay}")

    def rate(self, step: Any, num_steps: int) -> Any:
        """The rate of a step of a run of so many; for a number of NumPy's, taken on the host."""
        xp: Any = np if isinstance(step, np.generic) else jnp
        at = xp.asarray(step, xp.float32)
        rise = xp.minimum(1.0, (at + 1) / max(1, self.warmup))
        whole = max(1, num_steps - self.warmup)
        done = xp.clip((at - self.warmup) / whole, 0.0, 1.0)
        if self.kind == "cosine":
            height = self.end + (1 - self.end) * 0.5 * (1 + xp.cos(xp.pi * done))
        elif self.kind == "linear":
            height = 1 - (1 - self.end) * done
        elif self.kind == "wsd":
            falling = xp.clip((done - (1 - self.decay)) / self.decay, 0.0, 1.0)
            height = 1 - (1 - self.end) * falling
        else:
            height = xp.ones(())
        return self.peak * rise * height
