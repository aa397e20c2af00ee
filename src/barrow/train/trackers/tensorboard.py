"""Metrics as TensorBoard's event files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from barrow.errors import MissingExtra
from barrow.train.trackers.tracker import Values, numbers


class TensorBoard:
    """Writes an event file to a folder. `clock` gives the time events are stamped with."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise MissingExtra("tensorboard", "tensorboard", "tracking by TensorBoard") from None
        self._event, self._session = event_pb2.Event, event_pb2.SessionLog
        self._summary = summary_pb2.Summary
        self._open = lambda: EventFileWriter(str(folder))
        self._clock = clock
        self._writer: Any = None

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Open a file; TensorBoard then discards earlier values from `start` on."""
        del run
        self._writer = self._open()
        session = self._session(status=self._session.START)
        self._add(self._event(step=start, session_log=session))

    def log(self, step: int, values: Values) -> None:
        """One point for each number."""
        points = [
            self._summary.Value(tag=name, simple_value=number)
            for name, number in numbers(values).items()
        ]
        self._add(self._event(step=step, summary=self._summary(value=points)))

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()

    def _add(self, event: Any) -> None:
        event.wall_time = self._clock()
        self._writer.add_event(event)
