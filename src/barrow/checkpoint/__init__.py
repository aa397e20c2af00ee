"""Checkpoints: sharded safetensors with a JSON index, atomic, checksummed, free of topology."""

from __future__ import annotations

from barrow.checkpoint.checkpoints import Checkpoints
from barrow.checkpoint.diff import LeafDifference, differences
from barrow.checkpoint.params import load_collections, load_into, load_params, save_params
from barrow.checkpoint.read import Checkpoint, open_checkpoint
from barrow.checkpoint.sources import open_params

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "LeafDifference",
    "differences",
    "load_collections",
    "load_into",
    "load_params",
    "open_checkpoint",
    "open_params",
    "save_params",
]
