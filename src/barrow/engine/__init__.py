"""Stages of idempotent tasks on files, run by local processes or by Ray."""

from __future__ import annotations

from barrow.engine.stages import Progress, Stages, StageTime
from barrow.engine.store import Store
from barrow.engine.task import File, Output, Outputs, Stage, Task
from barrow.engine.workers import Engine

__all__ = [
    "Engine",
    "File",
    "Output",
    "Outputs",
    "Progress",
    "Stage",
    "StageTime",
    "Stages",
    "Store",
    "Task",
]
