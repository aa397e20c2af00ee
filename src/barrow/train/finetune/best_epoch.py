"""Which epoch of a run was best, and whether to stop early."""

from __future__ import annotations

import math
from dataclasses import dataclass

from barrow.train.finetune.judge import LOWER


@dataclass(frozen=True)
class Progress:
    """Epochs done; the best of them (counted from 1, 0 for none) and what it was measured at.

    A NaN metric is worse than any number.
    """

    metric: str
    epochs: int = 0
    best_epoch: int = 0
    best: float | None = None

    def after(self, value: float) -> Progress:
        """What is known after one more epoch."""
        done = self.epochs + 1
        if self.best_epoch and not self._is_better(value):
            return Progress(self.metric, done, self.best_epoch, self.best)
        return Progress(self.metric, done, done, value if math.isfinite(value) else None)

    def is_over(self, *, epochs: int, patience: int | None) -> bool:
        """Whether all epochs are done, or `patience` of them without a better one."""
        waited = self.epochs - self.best_epoch
        return self.epochs >= epochs or (patience is not None and waited >= patience)

    @property
    def was_best(self) -> bool:
        """Whether the last epoch is the best so far."""
        return self.epochs > 0 and self.best_epoch == self.epochs

    def _is_better(self, value: float) -> bool:
        if not math.isfinite(value):
            return False
        if self.best is None:
            return True
        return value < self.best if self.metric in LOWER else value > self.best
