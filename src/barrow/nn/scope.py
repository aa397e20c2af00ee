"""A place in a model while it is traced: its parameters, collections and keys by name."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.initialisers import Initialiser
from barrow.nn.trace import Axes, ParamSpec, Trace, divides


class Scope:
    """A folder in the tree of parameters; ``scope / "name"`` is a folder in it."""

    __slots__ = ("_again", "path", "trace")

    def __init__(self, trace: Trace, path: tuple[str, ...] = (), *, again: bool = False) -> None:
        self.trace = trace
        self.path = path
        self._again = again

    def __truediv__(self, name: str) -> Scope:
        return Scope(self.trace, self._inside(name), again=self._again)

    def again(self, name: str) -> Scope:
        """A folder whose parameters are used a second time on purpose (tied weights)."""
        return Scope(self.trace, self._inside(name), again=True)

    def with_trace(self, trace: Trace) -> Scope:
        """The same place in another trace."""
        return Scope(trace, self.path, again=self._again)

    @property
    def name(self) -> str:
        """The path, for messages and profiles."""
        return "/".join(self.path) or "model"

    def _inside(self, name: str) -> tuple[str, ...]:
        if not name or "/" in name:
            raise ValueError(f"{self.name}: {name!r} is not a name; write scope / 'a' / 'b'")
        return (*self.path, name)

    def _place(self, name: str) -> str:
        return "/".join((*self.path, name))

    # Parameters ----------------------------------------------------------------------------------

    def param(
        self,
        name: str,
        shape: tuple[int, ...],
        init: Initialiser,
        axes: Axes,
        dtype: Any = jnp.float32,
    ) -> Any:
        """A parameter: described by these arguments, or the one in the tree."""
        place = self._place(name)
        if len(axes) != len(shape):
            raise ValueError(f"{place}: {len(axes)} axis names {axes} for the shape {shape}")
        if not self._again and place in self.trace.used:
            raise ValueError(
                f"{place} already exists; rename one of the two, or share weights with "
                "scope.again(name) instead of scope / name"
            )
        self.trace.used.add(place)
        if self.trace.is_describing:
            spec = ParamSpec(tuple(shape), jnp.dtype(dtype), tuple(axes), init)
            known = self.trace.specs.setdefault(place, spec)
            if known.shape != spec.shape:
                raise ValueError(
                    f"{place}: shared with different shapes, {known.shape} and {spec.shape}"
                )
            return jnp.zeros(shape, dtype)
        held = self._held(name)
        if tuple(held.shape) != tuple(shape):
            raise ValueError(
                f"{place}: the model expects shape {tuple(shape)}, got {tuple(held.shape)}"
            )
        if jnp.issubdtype(held.dtype, jnp.floating) != jnp.issubdtype(dtype, jnp.floating):
            raise ValueError(
                f"{place}: the model expects {jnp.dtype(dtype).name}, got "
                f"{jnp.dtype(held.dtype).name}"
            )
        return held

    def _held(self, name: str) -> Any:
        place, at = self._place(name), self.trace.params
        for part in (*self.path, name)[self.trace.depth :]:
            if not isinstance(at, Mapping) or part not in at:
                there = ", ".join(at) if isinstance(at, Mapping) else "a leaf"
                raise ValueError(f"{place}: no such parameter; there is {there or 'nothing'}")
            at = at[part]
        if not (hasattr(at, "shape") and hasattr(at, "dtype")):
            what = "a folder" if isinstance(at, Mapping) else type(at).__name__
            raise ValueError(f"{place}: expected an array, got {what}")
        return at

    # Collections ---------------------------------------------------------------------------------

    def read(self, collection: str, name: str, initial: Callable[[], Any]) -> Any:
        """A value of a collection (running statistics); `initial` where there is none.

        `initial` is also what `nn.init_collections` calls: it must be free of traced arrays.
        """
        if self.trace.is_describing:
            self.trace.initial.setdefault(collection, {})[self._place(name)] = initial
        found, value = self.trace.find(collection, (*self.path, name))
        return value if found else initial()

    def holds(self, collection: str, name: str) -> bool:
        """Whether a collection has a value here."""
        return self.trace.find(collection, (*self.path, name))[0]

    def is_mutable(self, collection: str) -> bool:
        """Whether the caller requested this collection."""
        return collection in self.trace.mutable

    def write(self, collection: str, name: str, value: Any) -> None:
        """Return a value of a collection to the caller, if it was requested."""
        if self.is_mutable(collection):
            self.trace.written.setdefault(collection, {})[self._place(name)] = value

    def capture(self, name: str, value: Any) -> None:
        """Record a value for callers that request the collection `intermediates`."""
        self.write("intermediates", name, value)

    # Keys and devices ----------------------------------------------------------------------------

    def key(self, stream: str) -> jax.Array | None:
        """The key of this place in a named stream; None if there is none."""
        if stream not in self.trace.keys:
            return None
        place = self._place(stream)
        number = self.trace.num_keys.get(place, 0)
        self.trace.num_keys[place] = number + 1
        return key_at(self.trace.keys[stream], f"{place}:{number}")

    def constrain(self, x: jax.Array, *axes: str | None) -> jax.Array:
        """x, sharded by the caller's rules for these logical axes."""
        constrain = self.trace.constrain
        return x if constrain is None else constrain(x, axes)

    def divides(self, axis: str) -> bool:
        """Whether the caller's rules divide dimensions of this name over devices."""
        return divides(self.trace.constrain, axis)


def key_at(key: jax.Array, path: str) -> jax.Array:
    """A key for a path: it depends only on the path's characters."""
    return jax.random.fold_in(key, zlib.crc32(path.encode()))


def keys_at(key: jax.Array, paths: Sequence[str]) -> jax.Array:
    """Those of several paths."""
    numbers = np.array([zlib.crc32(path.encode()) for path in paths], np.uint32)
    found: jax.Array = jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)
    return found
