"""ACCELERATE-11: kill −9 at any moment; the newest complete checkpoint goes on to the same bits."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from barrow.checkpoint import Checkpoints

ROOT = Path(__file__).parents[2]
FOREVER = 10**9


def start(folder: Path, num_steps: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.checkpoint.runs", folder, str(num_steps)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def finished(folder: Path, num_steps: int) -> str:
    process = start(folder, num_steps)
    out, _ = process.communicate(timeout=1500)
    assert process.returncode == 0
    return out.split()[-1]


def killed(folder: Path, after: float) -> int:
    """The step that a run went on from before it was killed."""
    with start(folder, FOREVER) as process:
        assert process.stdout is not None
        word, step = process.stdout.readline().split()
        assert word == "ready"
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        return int(step)


@pytest.mark.parametrize(
    "num_kills", [2, pytest.param(50, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
def test_kills_at_random_moments(tmp_path: Path, num_kills: int) -> None:
    rng = random.Random(num_kills)
    starts = [killed(tmp_path / "a", rng.uniform(0.2, 1.0)) for _ in range(num_kills)]
    assert starts == sorted(starts)
    assert starts[-1] > 0
    latest = Checkpoints(tmp_path / "a").latest()
    assert latest is not None
    assert latest >= starts[-1]
    num_steps = latest + 3
    assert finished(tmp_path / "a", num_steps) == finished(tmp_path / "b", num_steps)
    # What the killed ones left behind is gone as well.
    names = [f"step-{step:09}" for step in (num_steps - 1, num_steps)]
    assert sorted(os.listdir(tmp_path / "a")) == names
