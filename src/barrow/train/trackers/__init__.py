"""Where the metrics of a run go."""

from __future__ import annotations

from barrow.train.trackers.json_lines import JsonLines, read_log
from barrow.train.trackers.named import NAMES, make_tracker
from barrow.train.trackers.terminal import Lines, terminal
from barrow.train.trackers.tracker import Tracker, Values, numbers

__all__ = [
    "NAMES",
    "JsonLines",
    "Lines",
    "Tracker",
    "Values",
    "make_tracker",
    "numbers",
    "read_log",
    "terminal",
]
