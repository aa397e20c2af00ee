"""A tracker whose failures do not stop a run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from barrow.errors import ConfigError
from barrow.train.trackers.tracker import Tracker, Values


class Guarded:
    """Wraps trackers that send values elsewhere, which may fail at any time.

    One that cannot start is an error. One that fails later is switched off with a warning:
    `log.jsonl` has every value.
    """

    def __init__(self, name: str, tracker: Tracker) -> None:
        self._name = name
        self._tracker = tracker
        self._has_failed = False

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Begin; `ConfigError` if it cannot."""
        try:
            self._tracker.begin(run, start)
        except Exception as error:
            raise ConfigError(f"{self._name} cannot start tracking: {_words(error)}") from error

    def log(self, step: int, values: Values) -> None:
        """Pass the values on, unless it has failed."""
        if self._has_failed:
            return
        try:
            self._tracker.log(step, values)
        except Exception as error:  # noqa: BLE001 - whatever another project's code raises
            self._has_failed = True
            warnings.warn(
                f"{self._name} failed at step {step} and is switched off: {_words(error)}",
                stacklevel=2,
            )

    def close(self) -> None:
        """Close it, if it can be."""
        try:
            self._tracker.close()
        except Exception as error:  # noqa: BLE001 - as above
            warnings.warn(f"{self._name} failed at the end: {_words(error)}", stacklevel=2)


def _words(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
