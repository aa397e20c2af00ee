"""Parameters by path out of any file that holds some; nothing in it is run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from barrow.checkpoint.folder import find_checkpoint, previous_one
from barrow.checkpoint.index import INDEX
from barrow.checkpoint.read import Checkpoint, open_checkpoint
from barrow.errors import CheckpointError, NotFound
from barrow.weights.flax import read_flax
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.tensors import Tensors, lazy
from barrow.weights.torch.checkpoint import open_torch

Format = Literal["checkpoint", "safetensors", "msgpack", "torch"]

# What the parameters' paths begin with in a checkpoint of a state.
PARAMS = "params/"


def format_of(path: str | os.PathLike[str]) -> Format:
    """What a path holds, by its name."""
    path = Path(path)
    if not path.exists():
        raise NotFound(f"{path} does not exist")
    if path.is_dir():
        has_weights = any(path.glob("*.safetensors")) and not (path / INDEX).is_file()
        return "safetensors" if has_weights else "checkpoint"
    known: dict[str, Format] = {
        ".safetensors": "safetensors",
        ".msgpack": "msgpack",
        ".pt": "torch",
        ".pth": "torch",
        ".bin": "torch",
    }
    if path.suffix not in known:
        raise ValueError(
            f"{path}: expected a checkpoint, a run, or a file named {', '.join(known)}; or "
            f"pass the format: {', '.join(get_args(Format))}"
        )
    return known[path.suffix]


def open_params(path: str | os.PathLike[str], *, format: Format | None = None) -> Tensors:  # noqa: A002
    """Parameters by path: of a checkpoint or the newest of a run, safetensors, Flax, PyTorch.

    A checkpoint is verified against its checksums; its parameters lose the "params/" in front.
    Names of a Flax file are joined by "/", and lose it too. PyTorch's files are read by the
    restricted loader, which admits arrays and nothing that runs.
    """
    kind = format or format_of(path)
    if kind == "checkpoint":
        return open_verified(path).tensors(PARAMS)
    if kind == "safetensors":
        return open_safetensors(path)
    if kind == "torch":
        return open_torch(path).tensors
    return lazy(_without_collection(dict(_flat(read_flax(path)))))


def open_verified(path: str | os.PathLike[str]) -> Checkpoint:
    """A checkpoint, or the newest of a run, whose bytes are those that were written.

    The error of a damaged one names the one before it.
    """
    checkpoint = open_checkpoint(find_checkpoint(Path(path)))
    verify_or_offer(checkpoint)
    return checkpoint


def verify_or_offer(checkpoint: Checkpoint, paths: Iterable[str] | None = None) -> None:
    """Check the checksums of arrays; the error of a damaged one names the checkpoint before it."""
    try:
        checkpoint.verify(paths)
    except CheckpointError as error:
        cause = f"{error.cause}; {previous_one(checkpoint.folder)}"
        raise CheckpointError(cause, reason=error.reason, folder=error.folder) from None


def _flat(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from _flat(value, f"{prefix}/{name}" if prefix else str(name))
    elif tree is not None:
        yield prefix, np.asarray(tree)


def _without_collection(arrays: dict[str, Any]) -> dict[str, Any]:
    """Of a Flax file with collections, the parameters."""
    inside = {n.removeprefix(PARAMS): a for n, a in arrays.items() if n.startswith(PARAMS)}
    return inside or arrays
