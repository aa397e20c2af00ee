"""What one call of a model reads and writes, while it is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import jax

from barrow.nn.initialisers import Initialiser
from barrow.nn.tree import Tree, from_paths, paths

Axes = tuple[str | None, ...]


class Constrain(Protocol):
    """How activations are sharded, by the logical names of their dimensions."""

    def __call__(self, x: jax.Array, axes: Axes) -> jax.Array:
        """x, sharded."""

    def divides(self, axis: str) -> bool:
        """Whether dimensions of this name are divided over devices."""

    def parts(self, axis: str, size: int) -> int:
        """Parts that a dimension of this name and size is divided into."""

    def mapped(
        self, function: Callable[..., Any], axes: Sequence[Axes], out: Sequence[Axes]
    ) -> Any:
        """``function(*parts, over)`` on each device's parts of arrays with these axes.

        ``over(name)`` is what to sum over where a dimension of that name is contracted: the mesh
        axes it is divided over. `out` are the axes of the results, which take the sizes of the
        arguments' dimensions of the same name.
        """

    @property
    def inside(self) -> Constrain | None:
        """How activations are sharded within a stage of a pipeline; None without one."""

    @property
    def is_mapped(self) -> bool:
        """Whether this is within a stage: `jax.vmap` maps the layers over stages."""

    def staged(
        self, group: Callable[..., Any], layers: Any, x: Any, shared: Any
    ) -> tuple[Any, Any]:
        """X after layers that are divided into groups, each on its own devices; and their outputs.

        ``group(layers, x, shared, number)`` is the same for the layers of one group and some rows
        of the batch: micro-batch `number`. Arrays of `layers` and outputs have a leading dimension
        for them; then outputs, as x, have the batch's rows; so has `shared`, or one row for all.
        """


def divides(constrain: Constrain | None, axis: str) -> bool:
    """Whether dimensions of this name are divided; a plain function divides none."""
    asked = getattr(constrain, "divides", None)
    return asked is not None and bool(asked(axis))


def inside(constrain: Constrain | None) -> Constrain | None:
    """How activations are sharded within a stage of a pipeline; None without one."""
    return getattr(constrain, "inside", None)


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
    """What one call of a model reads and writes. While a model is described, there are no `params`.

    Paths are from the root of the model, also where a part of it is traced separately: there
    `params` and `collections` hold only the part, and `depth` is the number of leading names that
    they do not have.
    """

    params: Mapping[str, Any] | None
    collections: Mapping[str, Mapping[str, Any]]
    keys: Mapping[str, jax.Array]
    mutable: tuple[str, ...]
    constrain: Constrain | None
    depth: int = 0
    specs: dict[str, ParamSpec] = field(default_factory=dict)
    initial: dict[str, dict[str, Callable[[], Any]]] = field(default_factory=dict)
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    num_keys: dict[str, int] = field(default_factory=dict)
    modules: dict[str, list[str]] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)

    @property
    def is_describing(self) -> bool:
        """Whether parameters are being described, not used."""
        return self.params is None

    def find(self, collection: str, path: tuple[str, ...]) -> tuple[bool, Any]:
        """Whether a collection holds a value at a path, and the value: the last one written."""
        written = self.written.get(collection, {})
        if "/".join(path) in written:
            return True, written["/".join(path)]
        at: Any = self.collections.get(collection, {})
        for part in path[self.depth :]:
            if not isinstance(at, Mapping) or part not in at:
                return False, None
            at = at[part]
        return True, at

    def new_collections(self) -> Tree:
        """The collections given and requested, with what was written."""
        names = (*self.collections, *self.mutable)
        return Tree({name: self._now(name) for name in names})

    def _now(self, collection: str) -> Tree:
        given = self.collections.get(collection, {})
        if collection not in self.written:
            return Tree(given)
        new = {tuple(place.split("/")): x for place, x in self.written[collection].items()}
        below = {"/".join(path[self.depth :]): x for path, x in new.items()}
        return from_paths(paths(given) | paths(from_paths(below)))

    def note(self, place: str, kind: str) -> None:
        """Record, for the summary, the kind of module at a path."""
        kinds = self.modules.setdefault(place, [])
        if kind not in kinds:
            kinds.append(kind)
