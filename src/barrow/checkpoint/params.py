"""Parameters alone: saved, loaded, and loaded into another architecture by a map of names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.checkpoint.folder import find_checkpoint
from barrow.checkpoint.index import as_json
from barrow.checkpoint.leaves import leaves, rebuilt
from barrow.checkpoint.read import Checkpoint, open_checkpoint
from barrow.checkpoint.restore import placed, restore
from barrow.checkpoint.snapshot import snapshot
from barrow.checkpoint.sources import PARAMS, open_params
from barrow.checkpoint.write import write_checkpoint
from barrow.nn.tree import Tree, from_paths, paths
from barrow.parallel.processes import open_peers
from barrow.weights.matching import Matching, match
from barrow.weights.tensors import lazy

COLLECTIONS = "collections/"
# From a name in the file to the path of a parameter; None where it is for none, on purpose.
NameMap = Mapping[str, str | None] | Callable[[str], str | None]


def save_params(
    folder: str | os.PathLike[str],
    params: Any,
    about: Mapping[str, Any] | None = None,
    *,
    timeout: float = 600.0,
) -> None:
    """Write a checkpoint that holds parameters and nothing else; one of that name is replaced.

    It returns when all is on the disk. Every process of a run calls this.
    """
    folder = Path(folder)
    peers = open_peers(f"checkpoint/{folder}/parameters", timeout=timeout)
    held = snapshot({"params": params})
    write_checkpoint(folder, held, step=None, about=as_json(about or {}), peers=peers)


def load_params(folder: str | os.PathLike[str], like: Any = None, *, shardings: Any = None) -> Any:
    """The parameters of a checkpoint (or of the newest of a run), whole states included.

    They are shaped as `like` and sharded as `shardings` or `like`; without `like` they are the
    `Tree` that their names make, on the default device.
    """
    checkpoint = open_checkpoint(find_checkpoint(Path(folder)))
    if like is not None:
        return restore(checkpoint, like, prefix=PARAMS, shardings=shardings)
    return _tree(checkpoint, PARAMS, shardings)


def load_collections(folder: str | os.PathLike[str]) -> Tree:
    """What a model keeps beside its parameters, such as running statistics; often nothing."""
    return _tree(open_checkpoint(find_checkpoint(Path(folder))), COLLECTIONS)


def _tree(checkpoint: Checkpoint, prefix: str, shardings: Any = None) -> Tree:
    """The arrays of a state whose paths begin so, checked; by default on the default device."""
    found = [path for path in checkpoint.index.leaves if path.startswith(prefix)]
    checkpoint.verify(found)
    places = {} if shardings is None else paths(shardings)
    names = {path.removeprefix(prefix): path for path in found}
    return from_paths({n: placed(checkpoint, path, places.get(n)) for n, path in names.items()})


def load_into(
    params: Any,
    source: str | os.PathLike[str] | Mapping[str, Any],
    name_map: NameMap | None = None,
) -> tuple[Any, Matching]:
    """Parameters with the arrays of another model where names and shapes match, and the report.

    `params` are arrays; those that are not found are unchanged; what is found is converted to their
    type and layout. `source` is a checkpoint, a run, a file that `open_params` reads, or arrays by
    name. A name that a table does not have is kept.
    """
    held = leaves(params)
    tensors = lazy(source) if isinstance(source, Mapping) else open_params(source)
    shapes = {path: tuple(leaf.shape) for path, leaf in held.items()}
    matching = match(tensors, shapes, rename=_renaming(name_map))
    found = {path: _like(tensors[name], held[path]) for path, name in matching.source.items()}
    return rebuilt(params, held | found), matching


def _renaming(name_map: NameMap | None) -> Callable[[str], str | None] | None:
    if name_map is None or callable(name_map):
        return name_map
    return lambda name: name_map.get(name, name)


def _like(array: Any, leaf: Any) -> jax.Array:
    held = np.array(array).astype(leaf.dtype)
    return jax.device_put(held, leaf.sharding) if isinstance(leaf, jax.Array) else jnp.asarray(held)
