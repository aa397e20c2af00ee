"""log.jsonl: one line for each step that was logged, whatever happens in between."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from barrow.errors import WriteFailed
from barrow.files import make_folder
from barrow.train.trackers.tracker import Values


class JsonLines:
    """A file of JSON objects, one per line, in the order of their "step", no step twice.

    A line is appended by one write: only the last can be incomplete (`read_log` leaves it out).
    When a run resumes, an incomplete line is removed, and so are lines of steps that are repeated.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: int | None = None

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Keep the lines of steps before `start`."""
        del run
        make_folder(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self.path, flags, 0o644)
        os.ftruncate(self._file, _size_before(self.path, start))

    def log(self, step: int, values: Values) -> None:
        """Append a line."""
        if self._file is None:
            raise ValueError(f"{self.path}: call begin before log")
        text = json.dumps({"step": step, **values}, ensure_ascii=False, allow_nan=False)
        line = text.encode() + b"\n"
        with _named(self.path):
            written = os.write(self._file, line)
        if written != len(line):
            raise WriteFailed(
                f"{self.path}: only a part of a line could be written; is the disk full?"
            )

    def close(self) -> None:
        """Flush to disk and close."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                with _named(self.path):
                    os.fsync(file)
            finally:
                os.close(file)


def read_log(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """All lines of a log; an incomplete last one is left out."""
    data = Path(path).read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of an open file do not name it."""
    try:
        yield
    except OSError as error:
        raise WriteFailed(f"{path} could not be written: {error.strerror or error}") from error


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
