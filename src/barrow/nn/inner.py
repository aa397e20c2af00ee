"""A part of a model as a pure function of its own parameters, for `scan` and `checkpoint`.

A scope remembers what was written to it, which must not cross the border of a transformation: so
what is transformed is traced with a scope of its own, and what it wrote is passed out by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.module import Module
from barrow.nn.scope import Scope, Trace, key_at
from barrow.nn.tree import Tree


@dataclass(frozen=True)
class Variables:
    """All that a part of a model reads: a pytree."""

    params: Any
    collections: Any
    keys: Any


jax.tree_util.register_dataclass(Variables, ["params", "collections", "keys"], [])


def variables(scope: Scope) -> Variables:
    """What the model holds for a scope and all below it."""
    trace = scope.trace
    assert trace.params is not None
    found = {name: _at(tree, scope.path) for name, tree in trace.collections.items()}
    keys = {name: key_at(key, scope.name) for name, key in trace.keys.items()}
    return Variables(_at(trace.params, scope.path), found, keys)


def pure(scope: Scope, module: Module) -> Callable[..., tuple[Any, dict[str, dict[str, Any]]]]:
    """``function(variables, *args)``: the module's output, and what it wrote to collections."""
    outer = scope.trace

    def function(given: Variables, *args: Any) -> tuple[Any, dict[str, dict[str, Any]]]:
        trace = Trace(
            given.params,
            given.collections,
            given.keys,
            outer.mutable,
            outer.constrain,
            where=f"{outer.where}{scope.name}/",
        )
        return module(Scope(trace), *args), trace.written

    return function


def write_back(scope: Scope, written: Mapping[str, Mapping[str, Any]]) -> None:
    """Give what a part wrote to the scope it is a part of."""
    for collection, leaves in written.items():
        for path, value in leaves.items():
            scope.write(collection, path, value)


def describe_inner(scope: Scope, module: Module, *args: Any, num_stacked: int | None = None) -> Any:
    """Describe a part; with `num_stacked`, as that many layers in one array. Gives its output."""
    trace = Trace(None, {}, {}, (), None, where=f"{scope.trace.where}{scope.name}/")
    output = module(Scope(trace), *args)
    prefix = "/".join(scope.path)
    for path, spec in trace.specs.items():
        if num_stacked is not None:
            spec = replace(
                spec,
                shape=(num_stacked, *spec.shape),
                axes=("layers", *spec.axes),
                num_stacked=spec.num_stacked + 1,
            )
        scope.trace.specs["/".join(filter(None, (prefix, path)))] = spec
    for collection, leaves in trace.initial.items():
        known = scope.trace.initial.setdefault(collection, {})
        for path, initial in leaves.items():
            here = "/".join(filter(None, (prefix, path)))
            known[here] = initial if num_stacked is None else _repeated(initial, num_stacked)
    return output


def _repeated(initial: Callable[[], Any], num: int) -> Callable[[], Any]:
    return lambda: jax.tree.map(lambda x: jnp.broadcast_to(x, (num, *x.shape)), initial())


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return Tree()
        tree = tree[name]
    return tree
