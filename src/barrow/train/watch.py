"""Detects divergence from losses and gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median

# Losses whose median the next one is compared with, and how many are needed first.
WINDOW = 100
ENOUGH = 20
# With a dynamic scale gradients overflow now and then, and the scale falls; after this many in a
# row no scale helps.
MOST_OVERFLOWS = 50
# A loss near 0 may be a multiple of its median; it must also be a nat above it.
MARGIN = 1.0


@dataclass(frozen=True)
class Watch:
    """The history: the last losses, all overflows, and the current consecutive ones."""

    losses: tuple[float, ...] = ()
    overflows: int = 0
    in_a_row: int = 0

    def after(
        self, loss: float, *, bad_tensor: str | None, is_scaled: bool, factor: float | None
    ) -> tuple[Watch, str | None]:
        """The history after one more step, and why the run must stop, if it must.

        `bad_tensor` is the parameter whose gradient was not finite, None where none was or only
        the loss was not. Where losses are scaled (fp16), that is an overflow and the step is
        skipped.
        """
        if bad_tensor is not None or not math.isfinite(loss):
            what = f"the loss is {loss:.6g}"
            if bad_tensor is not None:
                what = f"the gradient of {bad_tensor} is not finite ({what})"
            if not is_scaled:
                return self, what
            seen = replace(self, overflows=self.overflows + 1, in_a_row=self.in_a_row + 1)
            if seen.in_a_row >= MOST_OVERFLOWS:
                return seen, f"{what}, {MOST_OVERFLOWS} times in a row, at every loss scale"
            return seen, None
        seen = Watch((*self.losses, loss)[-WINDOW:], self.overflows)
        if factor is not None and len(self.losses) >= ENOUGH:
            usual = median(self.losses)
            if loss > factor * usual and loss > usual + MARGIN:
                return seen, (
                    f"the loss is {loss:.4f}, more than {factor:g} times {usual:.4f}, the "
                    f"median of the {len(self.losses)} before it: lower the learning rate, "
                    "lengthen the warm-up, or set diverged=null to ignore this"
                )
        return seen, None
