"""Processes that agree: here threads, with a store of words in memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.parallel.service import Service

from barrow.checkpoint.meeting import Alone, Meeting, Together, meet
from barrow.errors import CheckpointError


def together(
    act: Callable[[Meeting], None], *, num: int = 3, timeout: float = 60
) -> list[Exception | None]:
    """What each process raised."""
    meetings = [Together(room, timeout, Path("run")) for room in Service().rooms(num)]
    with ThreadPoolExecutor(num) as threads:
        futures = [threads.submit(act, meeting) for meeting in meetings]
        return [future.exception() for future in futures]  # type: ignore[misc]


def test_all_act_before_any_goes_on() -> None:
    acted: list[str] = []

    def act(meeting: Meeting) -> None:
        meeting.lead("begin", lambda: acted.append("begin"))
        assert acted[0] == "begin"
        meeting.everyone("write", lambda: acted.append("write"))
        assert acted.count("write") == 3
        meeting.lead("commit", lambda: acted.append("commit"))
        assert acted[-1] == "commit"

    assert together(act) == [None, None, None]
    assert acted == ["begin", "write", "write", "write", "commit"]


@pytest.mark.parametrize("who", [0, 1, 2])
def test_one_that_fails_is_heard_by_all(who: int) -> None:
    reached = []

    def act(meeting: Meeting) -> None:
        def write() -> None:
            if meeting.process == who:
                raise OSError("disk full")

        meeting.everyone("write", write)
        reached.append(meeting.process)

    raised = together(act)
    assert reached == []
    assert isinstance(raised[who], OSError)
    for process, error in enumerate(raised):
        if process != who:
            assert isinstance(error, CheckpointError)
            assert error.reason == "peer"
            assert "disk full" in str(error)


def test_a_lead_that_fails_is_heard_by_all() -> None:
    def fail() -> None:
        raise OSError("read-only")

    raised = together(lambda meeting: meeting.lead("begin", fail))
    assert isinstance(raised[0], OSError)
    assert [str(error) for error in raised[1:]] == ["run: process 0 failed: OSError: read-only"] * 2


def test_one_that_does_not_come() -> None:
    def act(meeting: Meeting) -> None:
        if meeting.process != 2:
            meeting.everyone("write", lambda: None)

    first, second, third = together(act, timeout=0.2)
    assert third is None
    assert isinstance(first, CheckpointError)
    assert first.reason == "timeout"
    assert "waited 0.2 s for process 2 (write/2) and heard nothing: every process" in str(first)
    assert isinstance(second, CheckpointError)


def test_alone(tmp_path: Path) -> None:
    meeting = meet(tmp_path, "step 1", timeout=1)
    assert meeting == Alone()
    acted: list[int] = []
    meeting.lead("a", lambda: acted.append(1))
    meeting.everyone("b", lambda: acted.append(2))
    assert acted == [1, 2]
