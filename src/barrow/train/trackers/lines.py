"""A plain line for each logged step: for files, pipes and other programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from barrow.train.trackers.tracker import Values


class Lines:
    """Writes lines to a text file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._steps = 0

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Print where a run resumes."""
        self._steps = run["steps"]
        if start:
            self._write(f"resuming at step {start:,} of {self._steps:,}")

    def log(self, step: int, values: Values) -> None:
        """Write a line."""
        self._write(in_words(step, self._steps, values))

    def close(self) -> None:
        """The file is the caller's."""

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()


def in_words(step: int, steps: int, values: Values) -> str:
    """The values people read, in one line; steps count from 0."""
    parts = [f"step {step:,}/{steps:,}"]
    for name, form in (
        ("epoch", "epoch {}"),
        ("loss", "loss {:.4f}"),
        ("bits_per_token", "{:.3f} bits/token"),
        ("image_to_text", "image→text {:.1%}"),
        ("text_to_image", "text→image {:.1%}"),
        ("held_out_loss", "validation {:.4f}"),
        ("held_out_image_to_text", "image→text {:.1%}"),
        ("held_out_accuracy", "accuracy {:.4f}"),
        ("held_out_entity_f1", "entity F1 {:.4f}"),
        ("held_out_pearson", "Pearson {:.4f}"),
        ("tokens_per_second", "{:,.0f} tok/s"),
        ("pairs_per_second", "{:,.0f} pairs/s"),
        ("mfu", "MFU {:.1%}"),
        ("learning_rate", "lr {:.2e}"),
        ("grad_norm", "grad norm {:.3g}"),
        ("overflow", "overflow in {}"),
    ):
        if name in values:
            parts.append(form.format(values[name]))
    if "step_seconds" in values:
        parts.append(f"ETA {_duration(float(values['step_seconds']) * (steps - step - 1))}")
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{left} s"
