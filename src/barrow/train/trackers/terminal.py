"""What a person at a terminal sees: a bar with the newest values, and lines that stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from barrow.train.trackers.tracker import Tracker, Values


def terminal(file: TextIO) -> Tracker:
    """A bar where `file` is a terminal and rich is installed, else plain lines."""
    if not file.isatty():
        return Lines(file)
    try:
        import rich  # noqa: F401
    except ImportError:
        return Lines(file)
    return Bar(file)


class Bar:
    """A bar by rich. Validation losses and overflows stay above it as lines."""

    def __init__(self, file: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=Console(file=file, highlight=False),
        )
        self._task: Any = None
        self._steps = 0

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Show the bar."""
        self._steps = run["steps"]
        self._task = self._progress.add_task("compiling", total=self._steps, completed=start)
        self._progress.start()

    def log(self, step: int, values: Values) -> None:
        """Move it on."""
        line = in_words(step, self._steps, values)
        self._progress.update(self._task, completed=step + 1, description=line)
        if "validation_loss" in values or "overflow" in values:
            self._progress.console.print(line, markup=False)

    def close(self) -> None:
        """Leave it as it is."""
        self._progress.stop()


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
        ("validation_loss", "validation {:.4f}"),
        ("validation_image_to_text", "image→text {:.1%}"),
        ("validation_accuracy", "accuracy {:.4f}"),
        ("validation_entity_f1", "entity F1 {:.4f}"),
        ("validation_pearson", "Pearson {:.4f}"),
        ("tokens_per_second", "{:,.0f} tok/s"),
        ("pairs_per_second", "{:,.0f} pairs/s"),
        ("mfu", "MFU {:.1%}"),
        ("learning_rate", "lr {:.2e}"),
        ("grad_norm", "grad norm {:.3g}"),
        ("overflow", "overflow in {}"),
    ):
        if name in values:
            parts.append(form.format(values[name]))
    parts += _of_devices(values)
    if "step_seconds" in values:
        parts.append(f"ETA {_duration(float(values['step_seconds']) * (steps - step - 1))}")
    return "  ".join(parts)


def _of_devices(values: Values) -> Iterator[str]:
    """The highest of the devices; memory of the process where no device reports its own."""
    forms = (("memory_peak", 2**30, "peak {:.2f} GiB"), ("temperature", 1, "{:.0f} °C"))
    for name, unit, form in (*forms, ("power", 1, "{:.0f} W")):
        found = [float(v) for k, v in values.items() if re.fullmatch(rf"device\d+_{name}", k)]
        if not found and name == "memory_peak":
            found = [float(values[key]) for key in ("host_memory_peak",) if key in values]
        if found:
            yield form.format(max(found) / unit)


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{left} s"
