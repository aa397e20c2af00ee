"""A place in a model while it is traced: its parameters, collections and keys by name."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.initialisers import Initialiser
from barrow.nn.tree import Tree, from_paths

Axes = tuple[str | None, ...]
Constrain = Callable[[jax.Array, Axes], jax.Array]


@dataclass(frozen=True)
class ParamSpec:
    """A parameter before it exists: `num_stacked` leading dimensions are layers."""

    shape: tuple[int, ...]
    dtype: Any
    axes: Axes
    init: Initialiser
    num_stacked: int = 0


@dataclass
class Trace:
    """What one call of a model reads and writes. Describing a model has no `params` yet.

    `where` is the path of the model's root, where it is a part of another that is traced by itself.
    """

    params: Mapping[str, Any] | None
    collections: Mapping[str, Mapping[str, Any]]
    keys: Mapping[str, jax.Array]
    mutable: tuple[str, ...]
    constrain: Constrain | None
    where: str = ""
    specs: dict[str, ParamSpec] = field(default_factory=dict)
    initial: dict[str, dict[str, Callable[[], Any]]] = field(default_factory=dict)
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    num_keys: dict[str, int] = field(default_factory=dict)

    @property
    def is_describing(self) -> bool:
        """Whether parameters are being found out, not used."""
        return self.params is None

    def new_collections(self) -> Tree:
        """The collections given, with what was written in place of what was there."""
        kept = {name: Tree(dict(tree)) for name, tree in self.collections.items()}
        return Tree(kept | {name: from_paths(leaves) for name, leaves in self.written.items()})


class Scope:
    """A folder in the tree of parameters; ``scope / "name"`` is a folder in it."""

    __slots__ = ("_again", "path", "trace")

    def __init__(self, trace: Trace, path: tuple[str, ...] = (), *, again: bool = False) -> None:
        self.trace = trace
        self.path = path
        self._again = again

    def __truediv__(self, name: str) -> Scope:
        return Scope(self.trace, (*self.path, name), again=self._again)

    def again(self, name: str) -> Scope:
        """A folder whose parameters are used a second time on purpose (tied weights)."""
        return Scope(self.trace, (*self.path, name), again=True)

    @property
    def name(self) -> str:
        """The path, for people and profiles."""
        return "/".join(self.path) or "model"

    def _place(self, name: str) -> str:
        return self.trace.where + "/".join((*self.path, name))

    # Parameters ----------------------------------------------------------------------------------

    def param(
        self,
        name: str,
        shape: tuple[int, ...],
        init: Initialiser,
        axes: Axes,
        dtype: Any = jnp.float32,
    ) -> Any:
        """A parameter: described by what is given, or the one that the tree holds here."""
        path, place = "/".join((*self.path, name)), self._place(name)
        if len(axes) != len(shape):
            raise ValueError(f"{place}: {len(axes)} axis names {axes} for the shape {shape}")
        if not self._again and path in self.trace.used:
            raise ValueError(
                f"{place} is there already; give one of the two another name, or say "
                "scope.again(name) in place of scope / name where weights are shared"
            )
        self.trace.used.add(path)
        if self.trace.is_describing:
            known = self.trace.specs.get(path)
            spec = ParamSpec(tuple(shape), jnp.dtype(dtype), tuple(axes), init)
            if known is not None and known.shape != spec.shape:
                raise ValueError(f"{place}: shared by shapes {known.shape} and {spec.shape}")
            self.trace.specs.setdefault(path, spec)
            return jnp.zeros(shape, dtype)
        held = self._held(path, place)
        if tuple(held.shape) != tuple(shape):
            raise ValueError(
                f"{place}: the model expects shape {tuple(shape)}, the parameters hold "
                f"{tuple(held.shape)}"
            )
        if jnp.issubdtype(held.dtype, jnp.floating) != jnp.issubdtype(dtype, jnp.floating):
            raise ValueError(
                f"{place}: the model expects {jnp.dtype(dtype).name}, the parameters hold "
                f"{jnp.dtype(held.dtype).name}"
            )
        return held

    def _held(self, path: str, place: str) -> Any:
        at: Any = self.trace.params
        for name in path.split("/"):
            if not isinstance(at, Mapping) or name not in at:
                there = ", ".join(at) if isinstance(at, Mapping) else "a leaf"
                raise ValueError(f"{place}: no such parameter; there is {there or 'nothing'}")
            at = at[name]
        if isinstance(at, Mapping):
            raise ValueError(f"{place}: expected an array, the parameters hold a folder")
        return at

    # Collections ---------------------------------------------------------------------------------

    def read(self, collection: str, name: str, initial: Callable[[], Any]) -> Any:
        """A value of a collection (running statistics, a cache); `initial` where there is none."""
        path = "/".join((*self.path, name))
        if self.trace.is_describing:
            self.trace.initial.setdefault(collection, {})[path] = initial
        if path in self.trace.written.get(collection, {}):
            return self.trace.written[collection][path]
        at: Any = self.trace.collections.get(collection, {})
        for part in path.split("/"):
            if not isinstance(at, Mapping) or part not in at:
                return initial()
            at = at[part]
        return at

    def is_mutable(self, collection: str) -> bool:
        """Whether the caller asked for this collection back."""
        return collection in self.trace.mutable

    def write(self, collection: str, name: str, value: Any) -> None:
        """Give a value of a collection back to the caller, if it was asked for."""
        if self.is_mutable(collection):
            leaves = self.trace.written.setdefault(collection, {})
            leaves["/".join((*self.path, name))] = value

    def capture(self, name: str, value: Any) -> None:
        """Show a value to callers who ask for the collection `intermediates`."""
        self.write("intermediates", name, value)

    # Keys and devices ----------------------------------------------------------------------------

    def key(self, stream: str) -> jax.Array | None:
        """A key of its own for this place, of a named stream; None where none was given."""
        if stream not in self.trace.keys:
            return None
        place = "/".join((*self.path, stream))
        number = self.trace.num_keys.get(place, 0)
        self.trace.num_keys[place] = number + 1
        return key_at(self.trace.keys[stream], f"{place}:{number}")

    def constrain(self, x: jax.Array, *axes: str | None) -> jax.Array:
        """x, laid over devices as the caller's rules say for these logical axes."""
        constrain = self.trace.constrain
        return x if constrain is None else constrain(x, axes)


def key_at(key: jax.Array, path: str) -> jax.Array:
    """A key for a path: it depends on the path's letters alone, not on what else there is."""
    return jax.random.fold_in(key, zlib.crc32(path.encode()))
