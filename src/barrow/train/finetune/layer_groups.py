"""Parameters by depth: which are frozen, and the learning rates of the others.

Depth 0 is the embeddings with their norm, depth i + 1 is layer i, and the head is deepest. To
freeze single layers, they must not be stacked (`nn.repeat.take_apart`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from barrow.train.optimizers import Muon, Optimizer

_EMBEDDINGS = ("embed", "positions", "types", "norm")
_LAYER = re.compile(r"layers/(\d+)/.*")
_RANGE = re.compile(r"layers:(\d+)(?:-(\d+))?")


def depth_of(path: str, num_layers: int) -> int:
    """The depth of a parameter by its path: 0 to `num_layers` + 1."""
    if path.split("/")[0] in _EMBEDDINGS:
        return 0
    found = _LAYER.fullmatch(path)
    return num_layers + 1 if found is None else int(found[1]) + 1


def frozen_depths(words: Sequence[str], num_layers: int) -> frozenset[int]:
    """The depths named by words: ``embeddings``, ``layers`` (all), ``layers:3``, ``layers:0-3``.

    Layers are counted from 0, and a range has both its ends.
    """
    found: set[int] = set()
    for word in words:
        match = _RANGE.fullmatch(word)
        if word == "embeddings":
            found.add(0)
        elif word == "layers":
            found |= set(range(1, num_layers + 1))
        elif match is not None:
            first, last = int(match[1]), int(match[2] or match[1])
            if not first <= last < num_layers:
                raise ValueError(
                    f"freeze: {word} is not within the model's layers 0 to {num_layers - 1}"
                )
            found |= set(range(first + 1, last + 2))
        else:
            raise ValueError(f"freeze: {word!r} must be embeddings, layers, layers:N or layers:N-M")
    return frozenset(found)


@dataclass(frozen=True)
class LayerGroups:
    """Frozen depths of a model of so many layers, and the learning-rate factor of each depth.

    A parameter's learning rate is the run's times ``decay`` to the power of its distance from the
    head: 1 for the head, `decay` for the last layer.
    """

    num_layers: int
    frozen: frozenset[int] = frozenset()
    decay: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ValueError(f"layer_decay must be > 0 and ≤ 1, got {self.decay}")
        if not all(0 <= depth <= self.num_layers for depth in self.frozen):
            raise ValueError(
                f"frozen depths must be from 0 to {self.num_layers}, got {sorted(self.frozen)}"
            )

    def factor(self, path: str) -> float:
        """What the learning rate of a parameter is multiplied by; 0 where it is frozen."""
        depth = depth_of(path, self.num_layers)
        return 0.0 if depth in self.frozen else self.decay ** (self.num_layers + 1 - depth)

    def factors(self, params: Any) -> Any:
        """`factor` for each leaf of a tree."""
        return jax.tree_util.tree_map_with_path(lambda path, _: self.factor(_name(path)), params)

    def held(self, params: Any) -> Any:
        """The same parameters, without gradients for those that are frozen.

        Nothing is computed for them, and they do not count in the gradient norm.
        """
        return jax.tree.map(
            lambda x, factor: x if factor else jax.lax.stop_gradient(x),
            params,
            self.factors(params),
        )


def grouped_optimizer(
    optimizer: Optimizer, num_steps: int, groups: LayerGroups
) -> optax.GradientTransformation:
    """The optimizer by depth; frozen parameters have no state and never change."""
    if isinstance(optimizer, Muon):
        raise ValueError("Muon needs stacked layers; by depth use AdamW, Lion or Adafactor")
    learning = optax.chain(optimizer.make(num_steps), _scaled(groups))

    def names(params: Any) -> Any:
        return jax.tree.map(lambda f: "learns" if f else "stays", groups.factors(params))

    return optax.partition({"learns": learning, "stays": _stay()}, names)


def _scaled(groups: LayerGroups) -> optax.GradientTransformation:
    """Updates times their factor, for both rate and weight decay."""
    return optax.stateless(
        lambda updates, _: jax.tree.map(lambda u, f: u * f, updates, groups.factors(updates))
    )


def _stay() -> optax.GradientTransformation:
    """Updates of −0: adding +0 would turn a parameter of −0 into +0."""
    return optax.stateless(
        lambda updates, _: jax.tree.map(lambda u: jnp.full_like(u, -0.0), updates)
    )


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")
