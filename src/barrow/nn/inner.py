"""A part of a model as a pure function of its own parameters, for `scan` and `checkpoint`.

A scope records what was written to it, which must not cross the border of a transformation: so a
transformed part has its own trace, and what it wrote is returned explicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Trace
from barrow.nn.tree import Tree

Written = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Variables:
    """Everything that a part of a model reads: a pytree."""

    params: Any
    collections: Any
    keys: Any


jax.tree_util.register_dataclass(Variables, ["params", "collections", "keys"], [])


def variables(scope: Scope) -> Variables:
    """What the model holds for a scope and all below it; what was written before is read."""
    trace = scope.trace
    assert trace.params is not None
    path = scope.path[trace.depth :]
    found = {name: _at(tree, path) for name, tree in trace.new_collections().items()}
    return Variables(_at(trace.params, path), found, dict(trace.keys))


def pure(scope: Scope, module: Module) -> Callable[..., tuple[Any, Written]]:
    """``function(variables, *args)``: the module's output, and what it wrote to collections.

    Keys and the check for repeated names depend on what the model did before, so each call starts
    from a copy of that state: unrolled layers, and a function traced several times, see the same.
    """
    outer = scope.trace
    used, num_keys = frozenset(outer.used), dict(outer.num_keys)

    def function(given: Variables, *args: Any, **kwargs: Any) -> tuple[Any, Written]:
        trace = Trace(
            given.params,
            given.collections,
            given.keys,
            outer.mutable,
            outer.constrain,
            depth=len(scope.path),
            used=set(used),
            num_keys=dict(num_keys),
        )
        output = module.forward(scope.with_trace(trace), *args, **kwargs)
        outer.used |= trace.used
        outer.num_keys |= trace.num_keys
        return output, trace.written

    return function


def write_back(scope: Scope, written: Mapping[str, Mapping[str, Any]]) -> None:
    """Write what a part wrote to its model."""
    for collection, leaves in written.items():
        scope.trace.written.setdefault(collection, {}).update(leaves)


def describe_inner(
    scope: Scope, module: Module, *args: Any, num_stacked: int | None = None, **kwargs: Any
) -> Any:
    """Describe a part; with `num_stacked`, as that many stacked layers. Returns its output."""
    outer = scope.trace
    outer.note("/".join(scope.path), type(module).__name__)
    if num_stacked is None:
        return module.forward(scope, *args, **kwargs)
    trace = Trace(None, {}, {}, (), None, modules=outer.modules, outputs=outer.outputs)
    trace.used = outer.used
    output = module.forward(scope.with_trace(trace), *args, **kwargs)
    for place, spec in trace.specs.items():
        outer.specs[place] = replace(
            spec,
            shape=(num_stacked, *spec.shape),
            axes=("layers", *spec.axes),
            num_stacked=spec.num_stacked + 1,
        )
    for collection, leaves in trace.initial.items():
        known = outer.initial.setdefault(collection, {})
        known |= {place: _repeated(initial, num_stacked) for place, initial in leaves.items()}
    return output


def _repeated(initial: Callable[[], Any], num: int) -> Callable[[], Any]:
    return lambda: jax.tree.map(lambda x: jnp.broadcast_to(x, (num, *x.shape)), initial())


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return Tree()
        tree = tree[name]
    return tree
