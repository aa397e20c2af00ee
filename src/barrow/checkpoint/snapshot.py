"""A state copied to the host, so that training continues while it is written.

A step takes the buffers of the state it is given (donation), so the copy must be complete before
the next step starts. Each process copies the shards that it owns: of every block of an array the
first replica, which exactly one device of all holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from barrow.checkpoint.leaves import Kind, as_stored, kind_of, leaves
from barrow.parallel.offload import Kept
from barrow.weights.tensors import Array


@dataclass(frozen=True)
class HeldPiece:
    """A block of a leaf on the host, and where in the leaf it starts."""

    path: str
    start: tuple[int, ...]
    array: Array


@dataclass(frozen=True)
class Snapshot:
    """All leaves by path, and the blocks of them that this process writes."""

    kinds: Mapping[str, Kind]
    pieces: tuple[HeldPiece, ...]


def snapshot(tree: Any) -> Snapshot:
    """Copy a tree of arrays; when this returns, the tree's buffers may be donated.

    What is kept on disk is not copied: it must not change before it is written.
    """
    found = leaves(tree)
    for path, leaf in found.items():
        if isinstance(leaf, jax.Array) and leaf.is_deleted():
            raise ValueError(f"{path} was donated to a step: save the state that the step returned")
    kinds = {path: kind_of(leaf) for path, leaf in found.items()}
    owned = [
        (path, start, block)
        for path, leaf in found.items()
        for start, block in _owned(as_stored(leaf))
    ]
    for _, _, block in owned:
        if isinstance(block, jax.Array):
            block.copy_to_host_async()  # all transfers under way before the first is waited for
    return Snapshot(kinds, tuple(HeldPiece(p, start, _on_host(b)) for p, start, b in owned))


def _owned(array: Any) -> list[tuple[tuple[int, ...], Any]]:
    if isinstance(array, Kept):
        return list(array.owned())
    is_lead = jax.process_index() == 0
    if not isinstance(array, jax.Array):
        return [((0,) * array.ndim, array)] if is_lead else []
    # An array on this process's devices alone is the same in all processes.
    if array.is_fully_addressable and not is_lead:
        return []
    return [
        (tuple(part.start or 0 for part in shard.index), shard.data)
        for shard in array.addressable_shards
        if shard.replica_id == 0
    ]


def _on_host(block: Any) -> Array:
    if isinstance(block, np.memmap):
        return block
    view = np.asarray(block)
    is_shared = not isinstance(block, jax.Array) or any(
        device.platform == "cpu" for device in block.devices()
    )
    # On a CPU, and in the host memory of an accelerator, the view is the buffer itself.
    is_shared = is_shared or block.sharding.memory_kind != "device"
    return np.array(view) if is_shared else view
