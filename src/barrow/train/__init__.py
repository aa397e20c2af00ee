"""Training: one step, the loop around it, and what it leaves behind."""

from __future__ import annotations

from barrow.train.fit import fit
from barrow.train.for_store import for_store
from barrow.train.interrupt import Interrupted
from barrow.train.run import CheckpointSettings, EvaluationSettings, MeshSettings, Run

__all__ = [
    "CheckpointSettings",
    "EvaluationSettings",
    "Interrupted",
    "MeshSettings",
    "Run",
    "fit",
    "for_store",
]
