"""Optimizers of optax by name, with what language models need around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax

from barrow.nn.tree import from_paths, paths
from barrow.train.schedules import Schedule


@dataclass(frozen=True)
class OptimizerSettings:
    """Which optimizer, its schedule, and its numbers. Weights of two and more dimensions decay.

    Muon takes matrices inside the layers; everything else goes to AdamW with Nesterov's momentum,
    as optax has it.
    """

    name: Literal["adamw", "lion", "adafactor", "muon"] = "adamw"
    schedule: Schedule = field(default_factory=Schedule)
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    decay: float = 0.1

    def __post_init__(self) -> None:
        if self.name not in ("adamw", "lion", "adafactor", "muon"):
            raise ValueError(f"no optimizer {self.name!r}: adamw, lion, adafactor or muon")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is from 0 to below 1, not {getattr(self, name)}")
        if not self.eps > 0 or not 0 <= self.decay < math.inf:
            raise ValueError(
                f"eps is above 0 and decay at least 0, not eps={self.eps}, decay={self.decay}"
            )


def make_optimizer(settings: OptimizerSettings, num_steps: int) -> optax.GradientTransformation:
    """The optimizer for a run of so many steps."""

    def rate(step: jax.Array) -> jax.Array:
        found: jax.Array = settings.schedule.rate(step, num_steps)
        return found

    adamw = optax.adamw(
        rate,
        b1=settings.beta1,
        b2=settings.beta2,
        eps=settings.eps,
        weight_decay=settings.decay,
        mask=decayed,
    )
    if settings.name == "adamw":
        return adamw
    if settings.name == "lion":
        return optax.lion(
            rate, b1=settings.beta1, b2=settings.beta2, weight_decay=settings.decay, mask=decayed
        )
    if settings.name == "adafactor":
        return optax.adafactor(
            rate, weight_decay_rate=settings.decay or None, weight_decay_mask=decayed
        )
    muon = optax.contrib.muon(
        rate,
        beta=settings.beta2,
        eps=settings.eps,
        weight_decay=settings.decay,
        weight_decay_mask=decayed,
        adam_b1=settings.beta1,
        adam_b2=settings.beta2,
        muon_weight_dimension_numbers=_matrices,
    )
    # Its AdamW knows no mask, and biases and norms would decay.
    return optax.chain(muon, _with_decay(rate, settings.decay))


def decayed(params: Any) -> Any:
    """Which parameters decay: kernels and tables; no bias, no norm."""
    return _by_path(params, _decays)


def _with_decay(rate: Callable[[jax.Array], jax.Array], decay: float) -> Any:
    """Adds −rate·decay·p for what decays and is no matrix of Muon's."""

    def rest(params: Any) -> Any:
        numbers = paths(_matrices(params))
        return _by_path(params, lambda path: _decays(path) and numbers[path] is None)

    alone = optax.chain(
        optax.add_decayed_weights(decay, mask=rest), optax.scale_by_learning_rate(rate)
    )

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        lost, state = alone.update(jax.tree.map(jnp.zeros_like, updates), state, params)
        return jax.tree.map(jnp.add, updates, lost), state

    return optax.GradientTransformation(alone.init, update)


def _decays(path: str) -> bool:
    return path.rpartition("/")[2] in ("kernel", "table")


def _matrices(params: Any) -> Any:
    """For Muon: kernels inside the layers, as matrices; the first dimension is the layer's."""

    def numbers(path: str, leaf: Any) -> Any:
        if not (path.startswith("layers/") and path.endswith("kernel") and leaf.ndim >= 3):
            return None
        into = 2 if "/out/" in path and leaf.ndim == 4 else 1
        return optax.contrib.MuonDimensionNumbers(
            reduction_axis=tuple(range(1, 1 + into)),
            output_axis=tuple(range(1 + into, leaf.ndim)),
        )

    return from_paths({path: numbers(path, leaf) for path, leaf in paths(params).items()})


def _by_path(params: Any, choose: Callable[[str], bool]) -> Any:
    return jax.tree_util.tree_map_with_path(
        lambda path, _: choose(jax.tree_util.keystr(path, simple=True, separator="/")), params
    )
