"""Metrics to Weights & Biases."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow.errors import MissingExtra
from barrow.train.trackers.tracker import Values, numbers


class Wandb:
    """A run of W&B, named by the run's folder, so that a resumed run is the same there.

    Where it is sent is set for W&B (WANDB_MODE, WANDB_PROJECT).
    """

    def __init__(self, folder: Path) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingExtra("wandb", "wandb", "tracking by Weights & Biases") from None
        self._wandb = wandb
        self._folder = folder.resolve()
        self._run: Any = None

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Start or resume; W&B drops steps that it already has."""
        del start
        name = hashlib.sha256(str(self._folder).encode()).hexdigest()[:16]
        self._run = self._wandb.init(
            id=name, name=self._folder.name, dir=str(self._folder), config=dict(run), resume="allow"
        )

    def log(self, step: int, values: Values) -> None:
        """Send numbers."""
        self._run.log(numbers(values), step=step)

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            self._run.finish()
