"""Optimizers: objects that make a transformation of optax for a run.

`Optimizer` is the protocol; the four here are optax's, adapted for language models. Kernels and
tables decay by rate · `weight_decay` at each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import optax

from barrow.nn.tree import from_paths, paths
from barrow.train.schedules import Cosine, Schedule

Rate = Callable[[jax.Array], jax.Array]


class Optimizer(Protocol):
    """How gradients change parameters: a frozen dataclass with its numbers."""

    @property
    def schedule(self) -> Schedule:
        """Its learning rate, which the log shows."""
        ...

    def make(self, num_steps: int) -> optax.GradientTransformation:
        """The transformation for a run of so many steps."""
        ...


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay.

    - `schedule`: of the learning rate; `weight_decay`: of kernels and tables.
    - `beta1`, `beta2`: what stays of the averages of gradients and their squares at each step.
    - `eps`: what is added to the root of the squares.
    """

    schedule: Schedule = field(default_factory=Cosine)
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self)

    def make(self, num_steps: int) -> optax.GradientTransformation:
        """See `Optimizer`."""
        return optax.adamw(
            rate_of(self.schedule, num_steps),
            b1=self.beta1,
            b2=self.beta2,
            eps=self.eps,
            weight_decay=self.weight_decay,
            mask=decayed,
        )


@dataclass(frozen=True)
class Lion:
    """The sign of a momentum."""

    schedule: Schedule = field(default_factory=Cosine)
    beta1: float = 0.9
    beta2: float = 0.95
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self)

    def make(self, num_steps: int) -> optax.GradientTransformation:
        """See `Optimizer`."""
        return optax.lion(
            rate_of(self.schedule, num_steps),
            b1=self.beta1,
            b2=self.beta2,
            weight_decay=self.weight_decay,
            mask=decayed,
        )


@dataclass(frozen=True)
class Adafactor:
    """Second moments by rows and columns only; steps are relative to a parameter's size.

    The moment of step t keeps 1 − t^−`decay_rate` of the one before. Parameters with two dimensions
    ≥ `min_factored` are factored. An update whose root mean square is above `clip` is scaled down
    to it.
    """

    schedule: Schedule = field(default_factory=Cosine)
    decay_rate: float = 0.8
    clip: float = 1.0
    eps: float = 1e-30
    min_factored: int = 128
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self)

    def make(self, num_steps: int) -> optax.GradientTransformation:
        """See `Optimizer`."""
        rate = rate_of(self.schedule, num_steps)
        plain = optax.adafactor(
            rate,
            min_dim_size_to_factor=self.min_factored,
            decay_rate=self.decay_rate,
            clipping_threshold=self.clip,
            eps=self.eps,
        )
        # optax applies its decay after the rate: every step would take a tenth off every weight.
        return optax.chain(plain, _with_decay(rate, self.weight_decay, decayed))


@dataclass(frozen=True)
class Muon:
    """Orthogonal updates of the matrices inside the layers, by a momentum.

    Everything else is AdamW's, with Nesterov's momentum and the same rate.

    - `momentum`: what stays of the momentum of the matrices at each step.
    - `schedule`: of the learning rate; `weight_decay`: of kernels and tables.
    - `beta1`, `beta2`: what stays of the averages of gradients and their squares at each step.
    - `eps`: what is added to the root of the squares.
    """

    schedule: Schedule = field(default_factory=Cosine)
    momentum: float = 0.95
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self)

    def make(self, num_steps: int) -> optax.GradientTransformation:
        """See `Optimizer`."""
        rate = rate_of(self.schedule, num_steps)
        muon = optax.contrib.muon(
            rate,
            beta=self.momentum,
            eps=self.eps,
            weight_decay=self.weight_decay,
            weight_decay_mask=decayed,
            adam_b1=self.beta1,
            adam_b2=self.beta2,
            muon_weight_dimension_numbers=_matrices,
        )
        # Its AdamW has no mask: biases and norms would decay.
        return optax.chain(muon, _with_decay(rate, self.weight_decay, _decayed_beside_muon))


def decayed(params: Any) -> Any:
    """Which parameters decay: kernels and tables; no bias, no norm."""
    return _by_path(params, _decays)


def check_numbers(optimizer: Any) -> None:
    """Raise for settings out of range."""
    for name in ("beta1", "beta2", "momentum", "decay_rate"):
        if not 0 <= getattr(optimizer, name, 0) < 1:
            raise ValueError(f"{name} must be ≥ 0 and below 1, got {getattr(optimizer, name)}")
    for name in ("eps", "clip"):
        if not 0 < getattr(optimizer, name, 1) < math.inf:
            raise ValueError(f"{name} must be above 0, got {getattr(optimizer, name)}")
    if not 0 <= optimizer.weight_decay < math.inf:
        raise ValueError(f"weight_decay must be ≥ 0, got {optimizer.weight_decay}")


def rate_of(schedule: Schedule, num_steps: int) -> Rate:
    """The learning rate by step."""

    def rate(step: jax.Array) -> jax.Array:
        found: jax.Array = schedule.rate(step, num_steps)
        return found

    return rate


def _with_decay(rate: Rate, decay: float, mask: Callable[[Any], Any]) -> Any:
    """Adds −rate · decay · p for what the mask chooses."""
    alone = optax.chain(
        optax.add_decayed_weights(decay, mask=mask), optax.scale_by_learning_rate(rate)
    )

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        lost, state = alone.update(jax.tree.map(jnp.zeros_like, updates), state, params)
        return jax.tree.map(jnp.add, updates, lost), state

    return optax.GradientTransformation(alone.init, update)


def _decayed_beside_muon(params: Any) -> Any:
    numbers = paths(_matrices(params))
    return _by_path(params, lambda path: _decays(path) and numbers[path] is None)


def _decays(path: str) -> bool:
    return path.rpartition("/")[2] in ("kernel", "table")


def _matrices(params: Any) -> Any:
    """For Muon: kernels inside the layers, as matrices; the first dimension is the layer's.

    Experts have one more such dimension. Routers are not among them: their columns are few.
    """

    def numbers(path: str, leaf: Any) -> Any:
        # What is not a kernel may be masked, and has no dimensions.
        is_kernel = path.startswith("layers/") and path.endswith("kernel")
        if not is_kernel or "/router/" in path or leaf.ndim < 3:
            return None
        start = 2 if "/experts/" in path else 1
        into = 2 if "/out/" in path and leaf.ndim == 4 else 1
        return optax.contrib.MuonDimensionNumbers(
            reduction_axis=tuple(range(start, start + into)),
            output_axis=tuple(range(start + into, leaf.ndim)),
        )

    return from_paths({path: numbers(path, leaf) for path, leaf in paths(params).items()})


def _by_path(params: Any, choose: Callable[[str], bool]) -> Any:
    return jax.tree_util.tree_map_with_path(
        lambda path, _: choose(jax.tree_util.keystr(path, simple=True, separator="/")), params
    )
