"""Parameters by depth: which stay as they are, and how fast the others learn.

Depth 0 is the embeddings with their norm, depth i + 1 is layer i, and the head is deepest. For a
layer to be frozen by itself the layers must be trees of their own (`nn.repeat.take_apart`).
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
    """The depths that words name: ``embeddings``, ``layers`` (all), ``layers:3``, ``layers:0-3``.

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
            raise ValueError(
                f"freeze: {word!r} is none of embeddings, layers, layers:N and layers:N-M"
            )
    return frozenset(found)


@dataclass(frozen=True)
class LayerGroups:
    """What is frozen of a model of so many layers, and by how much each depth learns slower.

    A parameter's learning rate is the run's times ``decay`` to the power of its distance from the
    head: the head learns with the whole rate, the last layer with `decay` of it.
    """

    num_layers: int
    frozen: frozenset[int] = frozenset()
    decay: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ValueError(f"layer-decay is above 0 and at most 1, not {self.decay}")
        if not all(0 <= depth <= self.num_layers for depth in self.frozen):
            raise ValueError(
                f"depths 0 to {self.num_layers} can be frozen, not {sorted(self.frozen)}"
            )

    def factor(self, path: str) -> float:
        """What the learning rate of a parameter is multiplied by; 0 where it is frozen."""
        depth = depth_of(path, self.num_layers)
        return 0.0 if depth in self.frozen else self.decay ** (self.num_layers + 1 - depth)

    def factors(self, params: Any) -> Any:
        """`factor` for each leaf of a tree."""
        return jax.tree_util.tree_map_with_path(lambda path, _: self.factor(_name(path)), params)

    def held(self, params: Any) -> Any:
        """The same parameters, those that are frozen without a gradient.

        So nothing is computed for them, and the norm that gradients are clipped by leaves them out.
        """
        return jax.tree.map(
            lambda x, factor: x if factor else jax.lax.stop_gradient(x),
            params,
            self.factors(params),
        )


def grouped_optimizer(
    optimizer: Optimizer, num_steps: int, groups: LayerGroups
) -> optax.GradientTransformation:
    """The optimizer by depth; what is frozen has no state and keeps every bit."""
    if isinstance(optimizer, Muon):
        raise ValueError("Muon needs layers in one array; use AdamW, Lion or Adafactor by depth")
    learning = optax.chain(optimizer.make(num_steps), _scaled(groups))

    def names(params: Any) -> Any:
        return jax.tree.map(lambda f: "learns" if f else "stays", groups.factors(params))

    return optax.partition({"learns": learning, "stays": _stay()}, names)


def _scaled(groups: LayerGroups) -> optax.GradientTransformation:
    """Updates times their factor: rate and weight decay of a depth alike."""
    return optax.stateless(
        lambda updates, _: jax.tree.map(lambda u, f: u * f, updates, groups.factors(updates))
    )


def _stay() -> optax.GradientTransformation:
    """Updates of −0: to add +0 would turn a parameter of −0 into +0."""
    return optax.stateless(
        lambda updates, _: jax.tree.map(lambda u: jnp.full_like(u, -0.0), updates)
    )


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")
