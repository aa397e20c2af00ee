"""A state as arrays by path, and back: what is written has a name, not a place in a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.files.dtypes import name_of


@dataclass(frozen=True)
class Kind:
    """Type (safetensors' name) and global shape of a leaf as it is stored.

    A typed key is stored as its bits; `key` is then its implementation and `key_dtype` JAX's name
    for keys of it. Both are None for other arrays.
    """

    dtype: str
    shape: tuple[int, ...]
    key: str | None = None
    key_dtype: str | None = None

    def __str__(self) -> str:
        return f"{self.key_dtype or self.dtype}{list(self.shape)}"


def leaves(tree: Any) -> dict[str, Any]:
    """Leaves by path: names of fields, keys and numbers joined by "/". None has no leaves."""
    found: dict[str, Any] = {}
    for keys, leaf in jax.tree_util.tree_leaves_with_path(tree):
        path = "/".join(jax.tree_util.keystr((key,), simple=True) for key in keys)
        if path in found:
            raise ValueError(f"two leaves have the path {path!r}; rename one")
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise ValueError(
                f"{path or 'the state'} is a {type(leaf).__name__}; a checkpoint holds "
                "arrays: convert it, or put it in `about`"
            )
        found[path] = leaf
    return found


def rebuilt(like: Any, found: Mapping[str, Any]) -> Any:
    """The tree shaped as `like` whose leaves are these, by path."""
    return jax.tree.unflatten(jax.tree.structure(like), [found[path] for path in leaves(like)])


def is_key(leaf: Any) -> bool:
    """Whether a leaf is a typed key of a random stream."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def kind_of(leaf: Any) -> Kind:
    """Of an array or of its shape (`jax.eval_shape`); the implementation only of an array."""
    if not is_key(leaf):
        return Kind(name_of(np.dtype(leaf.dtype)), tuple(leaf.shape))
    shape = jax.eval_shape(jax.random.key_data, leaf).shape
    implementation = None
    if isinstance(leaf, jax.Array):
        implementation = str(jax.random.key_impl(leaf))
    return Kind("U32", tuple(shape), implementation, leaf.dtype.name)


def as_stored(leaf: Any) -> Any:
    """The array whose elements are written: of a key its bits."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def as_used(stored: jax.Array, kind: Kind) -> jax.Array:
    """The leaf out of the array that was read."""
    return stored if kind.key is None else jax.random.wrap_key_data(stored, impl=kind.key)
