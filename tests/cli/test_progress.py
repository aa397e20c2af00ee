from __future__ import annotations

import os
import pty
import queue
import subprocess
import sys
import threading

import pytest

from barrow.cli import progress
from barrow.engine import StageTime

CODE = """
import itertools, types
from barrow.cli import progress
progress.time = types.SimpleNamespace(monotonic=itertools.count(step=0.2).__next__)
with progress.progress_bar("Counting", 1000) as advance:
    for _ in range({calls}):
        advance(50)
"""


def on_a_terminal(calls: int) -> str:
    """What the code writes to a terminal; a fifth of a second passes before each call."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-c", CODE.format(calls=calls)]
    process = subprocess.Popen(command, stderr=follower, env=environment)
    os.close(follower)
    seen = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(leader)
    assert process.wait() == 0
    return seen.decode()


def test_a_bar_shows_up_once_patience_is_over() -> None:
    assert "Counting" in on_a_terminal(11)


def test_no_bar_for_what_is_quick() -> None:
    assert on_a_terminal(9) == ""


def test_silent_when_not_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.progress_bar("Counting", 10) as advance:
        advance(10)
    assert capfd.readouterr() == ("", "")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_how_far_a_stage_is() -> None:
    clock = Clock()
    log = progress.StageLog(clock)
    log.begin("Reading", 400_000_000)
    clock.now = 60
    assert log.line() == "Reading: 0.0 of 400.0 MB, 0% after 60 s"
    clock.now, log.done = 120, 100_000_000
    assert log.line() == "Reading: 100.0 of 400.0 MB, 25% after 120 s, about 360 s left"
    log.begin("Clusters", 4)
    log.done = 1
    assert log.line() == "Clusters: 25% after 0 s, about 0 s left"


def test_a_line_at_the_end_of_each_stage(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.staged_progress(with_ends=True) as on:
        on.on_plan("Reading", 3_000_000)
        on.on_end(StageTime("Reading", 12, 3, 3_000_000, 2.0, 3.5))
        on.on_end(StageTime("Planning", 1, 0, 1, 0.04, 0.1))
        on.on_end(StageTime("Writing", 2, 2, 0, 0.0, 0.0))
    assert capfd.readouterr().err.splitlines() == [
        "Reading              12 tasks, 3 from the cache, 3.0 MB, 2.0 s, 1.5 MB/s",
        "Planning              1 task, 0.0 s",
        "Writing               2 tasks, 2 from the cache",
    ]
    with progress.staged_progress() as on:
        on.on_end(StageTime("Reading", 12, 3, 3_000_000, 2.0, 3.5))
    assert capfd.readouterr().err == ""


def test_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on a terminal; also while no task ends. The thread ends with the stage."""
    said: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(progress, "_MINUTE", 0.001)
    monkeypatch.setattr(progress, "_say", said.put)
    before = threading.active_count()
    with progress.staged_progress() as on:
        on.on_plan("Reading", 4_000_000)
        on.on_bytes(1_000_000)
        for _ in range(said.qsize() + 2):  # those that were said before, and one in between
            line = said.get(timeout=60)
        assert "Reading: 1.0 of 4.0 MB, 25%" in line
    assert threading.active_count() == before
