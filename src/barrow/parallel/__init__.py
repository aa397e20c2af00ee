"""Device meshes, sharding rules, and the processes of a run."""

from __future__ import annotations

from barrow.parallel.mesh import AXES, make_mesh, num_row_shards
from barrow.parallel.rules import (
    ZERO,
    Rules,
    Zero,
    bytes_per_device,
    constrainer,
    fitted,
    placing,
    placing_over,
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
    "fitted",
    "make_mesh",
    "num_row_shards",
    "placing",
    "placing_over",
    "rows_sharding",
    "shardings",
    "whole",
]
