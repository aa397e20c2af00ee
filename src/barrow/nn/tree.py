"""An immutable nested dict of arrays, and the paths into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax


class Tree(Mapping[str, Any]):
    """An immutable mapping from names to arrays or further trees, sorted by name.

    A pytree: `jax.tree.map`, `jax.grad` and optax accept it like a dict. A leaf may itself be
    a pytree that represents an array (a quantized weight).
    """

    __slots__ = ("_names", "_values")
    _names: tuple[str, ...]
    _values: tuple[Any, ...]

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        items = items or {}
        for name in items:
            if not isinstance(name, str) or not name or "/" in name:
                raise ValueError(f"a name in a Tree must be a string without '/', got {name!r}")
        names = tuple(sorted(items))
        _set(self, names, tuple(_frozen(items[name]) for name in names))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Tree is immutable; make another with `tree | {...}`")

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[self._names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __or__(self, other: Mapping[str, Any]) -> Tree:
        return Tree({**self, **other})

    def __repr__(self) -> str:
        inside = ", ".join(f"{name!r}: {_short(value)}" for name, value in self.items())
        return f"Tree({{{inside}}})"

    def __reduce__(self) -> tuple[type[Tree], tuple[dict[str, Any]]]:
        return Tree, (dict(self),)


def paths(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Leaves by their path, names joined by "/"."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{prefix}{name}"
        found |= paths(value, f"{path}/") if isinstance(value, Mapping) else {path: value}
    return found


def from_paths(leaves: Mapping[str, Any]) -> Tree:
    """The tree that has these leaves at these paths."""
    nested: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *folders, name = path.split("/")
        at = nested
        for folder in folders:
            at = at.setdefault(folder, {})
            if not isinstance(at, dict):
                raise ValueError(f"{path}: {folder} is a leaf and a folder at once")
        if name in at:
            raise ValueError(f"{path}: a leaf and a folder at once")
        at[name] = leaf
    return Tree(nested)


def _set(tree: Tree, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
    object.__setattr__(tree, "_names", names)
    object.__setattr__(tree, "_values", values)


def _frozen(value: Any) -> Any:
    return Tree(value) if isinstance(value, Mapping) and not isinstance(value, Tree) else value


def _short(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}"
    return repr(value)


def _flatten(tree: Tree) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    return tree._values, tree._names


def _flatten_with_keys(tree: Tree) -> tuple[list[tuple[Any, Any]], tuple[str, ...]]:
    keys = (jax.tree_util.DictKey(name) for name in tree._names)
    return list(zip(keys, tree._values, strict=True)), tree._names


def _unflatten(names: tuple[str, ...], values: Any) -> Tree:
    tree = object.__new__(Tree)
    _set(tree, names, tuple(values))
    return tree


jax.tree_util.register_pytree_with_keys(Tree, _flatten_with_keys, _unflatten, _flatten)
