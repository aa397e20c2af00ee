"""Processes: how a program is started several times, and how each finds the others.

`barrow launch` starts a script or a verb on this machine or on hosts, and stops all when one fails;
`barrow.launch(function, n=2)` does so with a function. In each process `join` finds out who started
it (barrow, Slurm, torchrun, MPI and others are rows of one table) and connects JAX with the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from barrow.launch.workers import Failed, launch
from barrow.launch.world import World, detect, join

__all__ = ["Failed", "World", "detect", "join", "launch"]


class _Callable(ModuleType):
    """A package that is also a function, `barrow.launch.function.run`."""

    def __call__(self, function: Callable[..., Any], *arguments: Any, n: int) -> list[Any]:
        from barrow.launch.function import run

        return run(function, *arguments, n=n)


sys.modules[__name__].__class__ = _Callable
