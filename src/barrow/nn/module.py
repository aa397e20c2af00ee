"""Modules: frozen descriptions. `init` finds shapes and makes parameters; `apply` is pure."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.abstract import abstractly
from barrow.nn.initialisers import ones, zeros
from barrow.nn.scope import Scope, keys_at
from barrow.nn.trace import Constrain, ParamSpec, Trace
from barrow.nn.tree import Tree, from_paths


@dataclass(frozen=True)
class Module(ABC):
    """A description of a computation. Subclasses are frozen dataclasses with a `forward`.

    In `forward`, ``scope.param(...)`` is a parameter and ``Other(...)(scope / "name", x)`` calls
    another module under a name. No input size is declared, and nothing is stored.
    """

    @abstractmethod
    def forward(self, scope: Scope, *args: Any, **kwargs: Any) -> Any:
        """The computation."""

    def __call__(self, scope: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute as a part of another module."""
        if not isinstance(scope, Scope):
            raise TypeError(_not_a_scope(type(self).__name__, type(scope).__name__))
        kind, trace = type(self).__name__, scope.trace
        if trace.is_describing:
            trace.note("/".join(scope.path), kind)
        with jax.named_scope(scope.path[-1] if scope.path else kind):
            output = self.forward(scope, *args, **kwargs)
        if trace.is_describing:
            trace.outputs["/".join(scope.path)] = jax.tree.map(jnp.shape, output)
        return output

    def init(self, key: jax.Array, *args: Any, **kwargs: Any) -> Tree:
        """Parameters for inputs like these (arrays, or only their shapes): no forward pass is run.

        Each is drawn from the key and its path, so adding a layer does not change other parameters.
        """
        specs = describe(self, *args, **kwargs)
        # Constants are most of the parameters, though few of the numbers: they need no key.
        drawn = {path: spec for path, spec in specs.items() if spec.init not in (zeros, ones)}
        keys = _keys(key, drawn) if drawn else {}
        return from_paths({path: _made(keys.get(path, key), spec) for path, spec in specs.items()})

    def apply(
        self,
        params: Mapping[str, Any],
        *args: Any,
        collections: Mapping[str, Mapping[str, Any]] | None = None,
        keys: Mapping[str, jax.Array] | None = None,
        constrain: Constrain | None = None,
        method: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """The output for these parameters: a pure function.

        `collections` are read (running statistics), never changed. `keys` are named streams of
        randomness: without ``keys={"dropout": key}`` nothing is dropped. `constrain` shards
        activations. `method`, one of this module's that takes a scope, replaces `forward`.
        """
        trace = Trace(params, collections or {}, keys or {}, (), constrain)
        return (self if method is None else method)(Scope(trace), *args, **kwargs)

    def apply_and_collect(
        self,
        params: Mapping[str, Any],
        *args: Any,
        mutable: tuple[str, ...],
        collections: Mapping[str, Mapping[str, Any]] | None = None,
        keys: Mapping[str, jax.Array] | None = None,
        constrain: Constrain | None = None,
        method: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, Tree]:
        """The output, and the collections with those named in `mutable` as they are afterwards."""
        trace = Trace(params, collections or {}, keys or {}, tuple(mutable), constrain)
        output = (self if method is None else method)(Scope(trace), *args, **kwargs)
        return output, trace.new_collections()


def describe(module: Module, *args: Any, **kwargs: Any) -> dict[str, ParamSpec]:
    """Every parameter of a module by its path, for inputs like these; allocates nothing."""
    return described(module, *args, **kwargs).specs


def described(module: Module, *args: Any, **kwargs: Any) -> Trace:
    """The trace of a module that has no parameters yet."""
    trace = Trace(None, {}, {}, (), None)
    abstractly(lambda *a, **k: module(Scope(trace), *a, **k), *args, **kwargs)
    return trace


def axes(module: Module, *args: Any, **kwargs: Any) -> Tree:
    """The tree of logical axis names, shaped as the parameters."""
    specs = describe(module, *args, **kwargs)
    return from_paths({path: spec.axes for path, spec in specs.items()})


def init_collections(module: Module, *args: Any, **kwargs: Any) -> Tree:
    """Initial collections of a module: running means of 0, variances of 1."""
    trace = described(module, *args, **kwargs)
    return Tree(
        {
            name: from_paths({path: initial() for path, initial in leaves.items()})
            for name, leaves in trace.initial.items()
        }
    )


def num_params(params: Mapping[str, Any]) -> int:
    """Numbers in all parameters."""
    return sum(int(leaf.size) for leaf in jax.tree.leaves(params))


def _not_a_scope(kind: str, given: str) -> str:
    return (
        f"{kind} was called with {given}, not a scope: inside a module write "
        f"{kind}(...)(scope / 'name', x), outside it model.apply(params, x)"
    )


def _keys(key: jax.Array, specs: Mapping[str, ParamSpec]) -> dict[str, jax.Array]:
    """A key for each path, as of `key_at`, or one for each of its layers.

    They are made together: compiling is most of the time that small models take to begin.
    """
    keys = keys_at(key, list(specs))
    numbers: dict[int, list[int]] = {}
    for number, spec in enumerate(specs.values()):
        if spec.num_stacked:
            numbers.setdefault(math.prod(spec.shape[: spec.num_stacked]), []).append(number)
    found = {path: keys[number] for number, path in enumerate(specs)}
    for num, places in numbers.items():
        split = jax.vmap(lambda k, num=num: jax.random.split(k, num))(keys[np.array(places)])
        found |= {list(specs)[place]: split[i] for i, place in enumerate(places)}
    return found


def _made(key: jax.Array, spec: ParamSpec) -> jax.Array:
    if spec.init in (zeros, ones) or not spec.num_stacked:
        return spec.init(key, spec.shape, spec.dtype)
    shape = spec.shape[spec.num_stacked :]
    made = jax.vmap(lambda k: spec.init(k, shape, spec.dtype))(key)
    return made.reshape(spec.shape)
