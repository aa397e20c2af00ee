"""log.jsonl: one line for each step that was logged, whatever happens in between."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow.files import AppendedFile
from barrow.train.trackers.tracker import Values


class JsonLines:
    """A file of JSON objects, one per line, in the order of their "step", no step twice.

    Only the last line can be incomplete (`read_log` leaves it out).
    When a run resumes, an incomplete line is removed, and so are lines of steps that are repeated.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: AppendedFile | None = None

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Keep the lines of steps before `start`."""
        del run
        keep = _size_before(self.path, start) if self.path.exists() else 0
        self._file = AppendedFile(self.path, keep=keep)

    def log(self, step: int, values: Values) -> None:
        """Append a line."""
        if self._file is None:
            raise ValueError(f"{self.path}: call begin before log")
        text = json.dumps({"step": step, **values}, ensure_ascii=False, allow_nan=False)
        self._file.write(text.encode() + b"\n")

    def close(self) -> None:
        """Flush to disk and close."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.sync()
            finally:
                file.close()


def read_log(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """All lines of a log; an incomplete last one is left out."""
    data = Path(path).read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def _size_before(path: Path, start: int) -> int:
    size = 0
    with path.open("rb") as file:
        for line in file:
            step = _step(line)
            if step is None or step >= start:
                break
            size += len(line)
    return size


def _step(line: bytes) -> int | None:
    """The step of a complete line, else None."""
    if not line.endswith(b"\n"):
        return None
    try:
        step = json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return None
    return step if isinstance(step, int) else None
