"""Device meshes, sharding rules, and the processes of a run."""

from __future__ import annotations

from barrow.parallel.mesh import AXES, make_mesh, num_row_shards
from barrow.parallel.rules import (
    ZERO,
    Rules,
    Zero,
    bytes_per_device,
    constrainer,
    rows_sharding,
    shardings,
    whole,
)

__all__ = [
    "AXES",
    "ZERO",
    "Rules",
    "Zero",
    "bytes_per_device",
    "constrainer",
    "make_mesh",
    "num_row_shards",
    "rows_sharding",
    "shardings",
    "whole",
]
