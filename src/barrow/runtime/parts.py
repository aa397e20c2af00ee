"""A state or model in parts: its arrays and the rest. Pytrees of any library; objects of flax.nnx.

Equinox has functions and numbers among the leaves of a model, flax.nnx keeps arrays in objects that
change. Neither library is imported here: what was made by one has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_array(x: Any) -> bool:
    """Whether a leaf is an array of JAX or NumPy."""
    return isinstance(x, jax.Array | np.ndarray | np.generic)


def is_trained(x: Any) -> bool:
    """Whether a leaf is an array with a gradient."""
    return is_array(x) and jnp.issubdtype(x.dtype, jnp.inexact)


def split(tree: Any, keep: Callable[[Any], bool]) -> tuple[Any, Any]:
    """Two trees, each with None in the places of the other's leaves."""
    return (
        jax.tree.map(lambda x: x if keep(x) else None, tree),
        jax.tree.map(lambda x: None if keep(x) else x, tree),
    )


def join(kept: Any, rest: Any) -> Any:
    """The tree that was split."""
    return jax.tree.map(lambda a, b: b if a is None else a, kept, rest, is_leaf=lambda x: x is None)


def nnx_of(state: Any) -> Any:
    """flax.nnx if a state is an object of it, or a tuple with one; else None."""
    nnx = sys.modules.get("flax.nnx")
    each = state if isinstance(state, tuple | list) else (state,)
    is_ours = nnx is not None and any(isinstance(one, nnx.Module | nnx.Optimizer) for one in each)
    return nnx if is_ours else None


def arrays_of(state: Any) -> Any:
    """The arrays of a state as a tree; all leaves of a TrainState of Flax are arrays."""
    if (nnx := nnx_of(state)) is not None:
        return nnx.state(state)
    if hasattr(state, "apply_gradients"):
        return jax.tree.map(jnp.asarray, state)
    return split(state, is_array)[0]


def with_arrays(state: Any, arrays: Any) -> Any:
    """The state with other arrays; an object of flax.nnx is changed."""
    if (nnx := nnx_of(state)) is not None:
        nnx.update(state, arrays)
        return state
    return arrays if hasattr(state, "apply_gradients") else join(arrays, split(state, is_array)[1])


def model_of(state: Any) -> Any:
    """The part of a state that a loss takes; what is no pair and no TrainState is all model."""
    is_pair = isinstance(state, tuple) and len(state) == 2
    return state[0] if is_pair else getattr(state, "params", state)


def first_of(loader: Any) -> tuple[Any, tuple[Any]]:
    """The first batch of a loader on the host, and the loader, which still has it."""
    batches = iter(loader)
    first = next(batches)
    is_once = batches is loader  # it cannot be read again
    return on_host(first), (chain([first], batches) if is_once else loader,)


def on_host(batch: Any) -> Any:
    """A batch as NumPy arrays; words stay."""
    return jax.tree.map(lambda x: x if isinstance(x, str) else np.asarray(x), batch)


def opened(
    model: Any, loss: Callable[..., Any], *, has_aux: bool
) -> tuple[Any, Any, Callable[..., Any], Callable[[Any], None]]:
    """Trained arrays, what the loss changes beside them, the loss of both, and what ends it."""

    def result(found: Any) -> tuple[Any, Any]:
        return found if has_aux else (found, None)

    if (nnx := nnx_of(model)) is None:
        params, rest = split(model, is_trained)

        def of_tree(params: Any, carried: None, *batch: Any) -> tuple[Any, Any, Any]:
            return *result(loss(join(params, rest), *batch)), carried

        return params, None, of_tree, lambda _: None
    shape, params, others = nnx.split(model, nnx.Param, ...)

    def of_object(params: Any, carried: Any, *batch: Any) -> tuple[Any, Any, Any]:
        copy = nnx.merge(shape, params, carried, copy=True)
        value, aux = result(loss(copy, *batch))
        return value, aux, nnx.state(copy, nnx.Not(nnx.Param))

    return params, others, of_object, lambda carried: nnx.update(model, carried)
