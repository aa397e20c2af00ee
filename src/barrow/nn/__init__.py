"""Modules as frozen descriptions; parameters as an immutable tree; everything pure."""

from __future__ import annotations

from barrow.nn.dot import Weight, dot
from barrow.nn.module import Module, axes, describe, init_collections, num_params
from barrow.nn.remat import Policy, Remat, named
from barrow.nn.repeat import Repeat
from barrow.nn.scope import Scope
from barrow.nn.tree import Tree, from_paths, paths

__all__ = [
    "Module",
    "Policy",
    "Remat",
    "Repeat",
    "Scope",
    "Tree",
    "Weight",
    "axes",
    "describe",
    "dot",
    "from_paths",
    "init_collections",
    "named",
    "num_params",
    "paths",
]
