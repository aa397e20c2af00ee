"""A loss is a total and a weight, never a mean.

Totals and weights add up over micro-batches and devices, so the mean over a global batch is exact
however it was divided; means of parts are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.tree import Tree

if TYPE_CHECKING:
    from barrow.nn.trace import Constrain


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mean:
    """A total and its weight: sums of them are exact."""

    total: jax.Array
    weight: jax.Array

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.weight + other.weight)

    @property
    def value(self) -> jax.Array:
        """The mean; 0 if the weight is 0."""
        # Numbers that are on the host stay there.
        numpy: Any = jnp if isinstance(self.weight, jax.Array) else np
        mean: jax.Array = self.total / numpy.where(self.weight == 0, 1, self.weight)
        return mean


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Loss:
    """The sum of a loss over the rows of a batch, what it is divided by (tokens), and the rest.

    `metrics` are further means to log; `collections` are the model's, updated.
    """

    total: jax.Array
    weight: jax.Array
    metrics: Mapping[str, Mean] = field(default_factory=dict)
    collections: Any = field(default_factory=Tree)


# loss(params, collections, batch, key) for the training step.
LossFunction = Callable[[Any, Any, Any, jax.Array], Loss]


@dataclass(frozen=True)
class Objective:
    """A loss, and whether it is a sum over rows; one that is not (contrastive) is never split.

    `frozen` are arrays that the loss uses and nothing changes (a teacher). A compiled step would
    have them inside its program as constants; so it takes them as an argument, and
    ``bind(frozen)`` is the objective that uses the given ones.
    """

    loss: LossFunction
    is_sum_over_rows: bool = True
    frozen: Any = None
    bind: Callable[[Any], Objective] | None = None


class MakeObjective(Protocol):
    """The objective of a run: a function of the model, or a frozen dataclass that is called as one.

    It is called for training, and again for validation, without dropout: `Module.apply` gets no
    keys. `constrain` is for `Module.apply` too: how activations are sharded. A class may have
    `unit` and `measure`, like `Task`.
    """

    def __call__(
        self, model: Any, *, is_training: bool, constrain: Constrain | None
    ) -> Objective: ...


def check_arrays(batch: Mapping[str, Any], *wanted: str, hint: str = "") -> None:
    """Raise unless a batch has all required arrays; `hint` ends the message."""
    if missing := [name for name in wanted if name not in batch]:
        message = f"the batch has no {', '.join(missing)}; it has {', '.join(batch)}"
        raise ValueError(message + hint)


def check_token_arrays(batch: Mapping[str, Any], *others: str, hint: str = "") -> None:
    """Raise unless tokens are [rows, length], and all others exist and have the same shape."""
    check_arrays(batch, "tokens", *others, hint=hint)
    shape = jnp.shape(batch["tokens"])
    for name in ("tokens", *others):
        if len(shape) != 2 or jnp.shape(batch[name]) != shape:
            raise ValueError(
                f"tokens and {name} must be [rows, length], got {shape} and "
                f"{jnp.shape(batch[name])}"
            )
