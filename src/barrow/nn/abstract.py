"""Tracing functions with only the shapes of their arguments: nothing is computed or allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def abstractly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes of a function's results. Only arrays are made abstract; other arguments stay."""
    call, arrays = _of_arrays(function, args, kwargs)
    return jax.eval_shape(call, arrays)


def jaxpr_of(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The equations of a function (a closed jaxpr) for arguments like these."""
    call, arrays = _of_arrays(function, args, kwargs)
    return jax.make_jaxpr(call)(arrays)


def _of_arrays(
    function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Callable[[list[Any]], Any], list[Any]]:
    """The function of its arrays only, and the arrays."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    is_array = [hasattr(leaf, "shape") and hasattr(leaf, "dtype") for leaf in leaves]

    def call(given: list[Any]) -> Any:
        rest = iter(given)
        full = [next(rest) if yes else leaf for leaf, yes in zip(leaves, is_array, strict=True)]
        a, k = jax.tree.unflatten(structure, full)
        return function(*a, **k)

    return call, [leaf for leaf, yes in zip(leaves, is_array, strict=True) if yes]
