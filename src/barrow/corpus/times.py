"""`times.json`: what the stages of the last build took that had anything to do.

It is beside the manifest and not in it, because all but this file and its page depends on the
recipe and the raw files alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from barrow import config
from barrow.engine import Engine, StageTime
from barrow.errors import ConfigError, NotFound
from barrow.files import write_bytes

TIMES, TIMES_PAGE = "times.json", "times.html"
HASHING = "Hashing"
_KEYS = frozenset(["engine", "workers", "seconds", "stages"])


def write_times(
    corpus: Path, stages: Sequence[StageTime], *, engine: Engine, seconds: float
) -> None:
    """Save what stages took, unless all their tasks were done before and their times are saved."""
    is_done = all(took.tasks == took.from_cache for took in stages if took.stage != HASHING)
    if is_done and (corpus / TIMES).is_file():
        return
    rows = [
        asdict(took)
        | {"seconds": round(took.seconds, 3), "cpu_seconds": round(took.cpu_seconds, 3)}
        for took in stages
    ]
    saved = {
        "engine": engine.name,
        "workers": engine.num_workers,
        "seconds": round(seconds, 3),
        "stages": rows,
    }
    write_bytes(corpus / TIMES, (json.dumps(saved, indent=1) + "\n").encode())


def read_times(corpus: Path) -> dict[str, Any]:
    """The times of a corpus."""
    path = corpus / TIMES
    if not path.is_file():
        raise NotFound(f"{corpus} has no {TIMES}; it is written by barrow build")
    times = config.parse_json(path.read_bytes(), path)
    if not isinstance(times, dict) or not times.keys() >= _KEYS:
        raise ConfigError(f"{path} must have the keys {', '.join(sorted(_KEYS))}")
    return times


def table_of(times: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of stage, tasks, from the cache, MB, seconds, CPU seconds and MB/s, and their sum."""
    rows = [StageTime(**row) for row in times["stages"]]
    total = StageTime(
        "total",
        sum(row.tasks for row in rows),
        sum(row.from_cache for row in rows),
        0,
        times["seconds"],
        sum(row.cpu_seconds for row in rows),
    )
    return [
        (
            row.stage,
            f"{row.tasks:,}",
            f"{row.from_cache:,}",
            f"{row.bytes / 1e6:,.1f}" if row.is_measured else "",
            f"{row.seconds:,.1f}",
            f"{row.cpu_seconds:,.1f}",
            f"{row.rate:,.1f}" if row.is_measured else "",
        )
        for row in (*rows, total)
    ]
