from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from barrow.errors import ConfigError
from barrow.train.trackers.guarded import Guarded
from barrow.train.trackers.tracker import Values


class Failing:
    """Notes its calls; fails in those that are named."""

    def __init__(self, *at: str) -> None:
        self.at = at
        self.calls: list[Any] = []

    def _called(self, name: str, *given: Any) -> None:
        self.calls.append((name, *given))
        if name in self.at:
            raise ConnectionError("the server is gone")

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        self._called("begin", run, start)

    def log(self, step: int, values: Values) -> None:
        self._called("log", step, values)

    def close(self) -> None:
        self._called("close")


def test_all_is_passed_on() -> None:
    inner = Failing()
    tracker = Guarded("Service", inner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.begin({"steps": 3}, 1)
        tracker.log(1, {"loss": 2.0})
        tracker.close()
    assert inner.calls == [("begin", {"steps": 3}, 1), ("log", 1, {"loss": 2.0}), ("close",)]


def test_one_that_cannot_begin() -> None:
    with pytest.raises(ConfigError, match="Service cannot start tracking: the server is gone"):
        Guarded("Service", Failing("begin")).begin({}, 0)


def test_one_that_fails_later() -> None:
    inner = Failing("log", "close")
    tracker = Guarded("Service", inner)
    tracker.begin({}, 0)
    with pytest.warns(UserWarning, match="Service failed at step 4 .*: the server is gone"):
        tracker.log(4, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log(5, {})
    assert inner.calls[-1] == ("log", 4, {})
    with pytest.warns(UserWarning, match="Service failed at the end: the server is gone"):
        tracker.close()
