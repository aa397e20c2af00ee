"""What a person at a terminal sees: a bar with the newest values, and lines that stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from barrow.train.trackers.lines import Lines, in_words
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
        if "held_out_loss" in values or "overflow" in values:
            self._progress.console.print(line, markup=False)

    def close(self) -> None:
        """Leave it as it is."""
        self._progress.stop()
