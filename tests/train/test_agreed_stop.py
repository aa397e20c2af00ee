"""Processes that agree after which step they stop; a table stands in for the service."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.parallel.service import Service

from barrow.train.agreed_stop import Alone, Together, agreed_stop


def test_one_process_stops_when_it_is_asked(tmp_path: Path) -> None:
    stop = agreed_stop(tmp_path)
    assert stop == Alone()
    assert [stop.is_now(step, is_asked=step == 2) for step in range(3)] == [False, False, True]


@pytest.mark.parametrize("lead", [-1, 0, 1])
@pytest.mark.parametrize("both", [False, True])
def test_all_stop_after_the_same_step(lead: int, both: bool) -> None:
    """One is asked after step 4; the other is a step behind, beside or ahead, and looks first."""
    first, second = map(Together, Service().rooms(2))
    stopped: dict[str, int] = {}
    for step in range(12):
        other = step + lead
        if "second" not in stopped and second.is_now(other, is_asked=both and other >= 4):
            stopped["second"] = other
        if "first" not in stopped and first.is_now(step, is_asked=step >= 4):
            stopped["first"] = step
    assert stopped == {"first": 6, "second": 6}
