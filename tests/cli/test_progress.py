from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from barrow.cli import progress

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
