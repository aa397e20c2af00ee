"""Processes: how a program is started several times, and how each finds the others.

`barrow launch` starts a script or a verb on this machine or on hosts, and stops all when one fails.
In each process `join` finds out who started it (barrow, Slurm, torchrun, MPI and others are rows of
one table) and connects JAX with the others.
"""

from __future__ import annotations

from barrow.launch.workers import Failed, launch
from barrow.launch.world import World, detect, join

__all__ = ["Failed", "World", "detect", "join", "launch"]
