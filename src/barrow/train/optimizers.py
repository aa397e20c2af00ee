"""Optimizers of optax by name, with what language models need around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import optax

from barrow.nn.tree import from_paths, paths
from barrow.train.schedules import Schedule


@dataclass(frozen=True)
class OptimizerSettings:
    """Which optimizer, its schedule, and its numbers. Weights of two and more dimensions decay.

    Muon takes matrices inside the layers; everything else goes to AdamW.
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


def make_optimizer(settings: OptimizerSettings, num_steps: int) -> optax.GradientTransformation:
    """The optimizer for a run of so many steps."""

    def rate(step: jax.Array) -> jax.Array:
        return settings.schedule.rate(step, num_steps)

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
    return optax.contrib.muon(
        rate,
        beta=settings.beta2,
        weight_decay=settings.decay,
        weight_decay_mask=decayed,
        adam_b1=settings.beta1,
        adam_b2=settings.beta2,
        adam_weight_decay=settings.decay,
        muon_weight_dimension_numbers=_matrices,
    )


def decayed(params: Any) -> Any:
    """Which parameters decay: kernels and tables; no bias, no norm."""
    return _by_path(params, lambda path: path.rpartition("/")[2] in ("kernel", "table"))


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
    return from_paths({path: choose(path) for path in paths(params)})
