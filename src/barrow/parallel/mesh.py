"""The mesh: devices in a grid whose axes have names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh

# Outermost first: the last axes are on neighbouring devices, with the fastest links.
AXES = ("stage", "data", "fsdp", "expert", "sequence", "tensor")
ROWS = ("data", "fsdp", "expert")  # the axes that rows of a batch are divided over


def make_mesh(
    *,
    data: int = -1,
    fsdp: int = 1,
    expert: int = 1,
    sequence: int = 1,
    tensor: int = 1,
    stage: int = 1,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of so many devices along each axis; one size may be −1, for what is left.

    Rows of a batch are divided over `data`, `fsdp` and `expert`; along `fsdp` the state is sharded
    too, by the rules; `expert` divides the experts. `sequence` divides each row, `tensor` the
    heads, the hidden units of the MLPs and the vocabulary, `stage` the layers.
    """
    found = list(jax.devices() if devices is None else devices)
    sizes = [stage, data, fsdp, expert, sequence, tensor]
    named = " × ".join(f"{axis}={size}" for axis, size in zip(AXES, sizes, strict=True))
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) > 1 or any(size < 1 and size != -1 for size in sizes):
        raise ValueError(f"{named}: sizes must be ≥ 1, and at most one -1")
    if -1 in sizes and len(found) % known == 0:
        sizes[sizes.index(-1)] = len(found) // known
    if math.prod(sizes) != len(found):
        raise ValueError(
            f"a mesh of {named} needs another number of devices than there are: {len(found)}; for "
            "virtual devices on a CPU, set "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={max(known, 2)}"
        )
    return Mesh(np.array(found).reshape(sizes), AXES)


def num_row_shards(mesh: Mesh | AbstractMesh) -> int:
    """Parts that the rows of a batch are divided into."""
    return math.prod(mesh.shape[axis] for axis in ROWS)
