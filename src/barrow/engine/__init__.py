"""Idempotent tasks on files, run by local processes or by Ray."""

from __future__ import annotations

from barrow.engine.run import Engine, Team, run
from barrow.engine.store import Store
from barrow.engine.task import Task

__all__ = ["Engine", "Store", "Task", "Team", "run"]
