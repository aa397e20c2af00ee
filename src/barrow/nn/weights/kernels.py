"""Which parameters of a model are weights of products, and may be replaced by smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax

from barrow.nn.dot import Weight
from barrow.nn.tree import Tree
from barrow.nn.weights.per_channel import PerChannel

# Dimensions that are contracted; None for a table of embeddings, whose rows are the outputs.
NumIn = int | None
_KEPT = {"positions", "types", "classifier", "experts", "router", "patches", "pooler"}


def is_weight(x: Any) -> bool:
    """Whether a leaf is a substitute for an array."""
    return not isinstance(x, jax.Array) and isinstance(x, Weight)


def with_weights(
    params: Any,
    make: Callable[[str, Any, NumIn], Any],
    prefix: str = "",
    *,
    also_substitutes: bool = False,
) -> Any:
    """Parameters in which ``make(path, array, num_in)`` replaces each kernel and table.

    Layers are a tuple (`nn.take_apart`), and in paths they have numbers. Norms, biases, experts,
    positions, convolutions and heads of labels stay; substitutes for arrays stay unless asked for.
    """

    def inside(held: Any, name: str | int) -> Any:
        return with_weights(held, make, f"{prefix}{name}/", also_substitutes=also_substitutes)

    if isinstance(params, tuple):
        return tuple(inside(held, number) for number, held in enumerate(params))
    if isinstance(params, Mapping):
        return Tree({name: inside(held, name) for name, held in params.items()})
    path = prefix[:-1]
    num_in = num_in_of(path)
    stays = num_in == 0 or (is_weight(params) and not also_substitutes)
    return params if stays else make(path, params, num_in)


def weights_in(params: Any) -> dict[str, tuple[Any, NumIn]]:
    """What `with_weights` replaces, by path."""
    found: dict[str, tuple[Any, NumIn]] = {}

    def note(path: str, leaf: Any, num_in: NumIn) -> Any:
        found[path] = leaf, num_in
        return leaf

    with_weights(params, note)
    return found


def num_in_of(path: str) -> NumIn:
    """How many dimensions of a parameter are contracted; 0 where it is no weight of a product."""
    names = path.split("/")
    if _KEPT & {*names}:
        return 0
    if names[-1] == "table":
        return None
    if names[-1] != "kernel":
        return 0
    return 2 if names[-2] == "out" else 1


def with_int8(params: Any) -> Any:
    """Parameters with kernels and tables of embeddings as the nearest int8."""
    return with_weights(params, lambda _, leaf, num_in: PerChannel.rounded(leaf, num_in=num_in))
