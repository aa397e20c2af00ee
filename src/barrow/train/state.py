"""All that training changes, as one pytree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from barrow.train.loss_scale import LossScale


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainState:
    """Parameters (float32 masters) and the rest; a step is a pure function from one to the next.

    `scale` is None but for fp16; `ema` is None unless averages of the parameters are kept. `key` is
    the run's; a step uses what it and the number of the step give.
    """

    step: jax.Array
    params: Any
    collections: Any
    optimizer: Any
    key: jax.Array
    scale: LossScale | None = None
    ema: Any = None
