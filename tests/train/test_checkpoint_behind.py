from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from barrow.train.checkpoint_behind import Behind


def fail() -> None:
    raise ValueError("wrong")


def test_a_job_runs_behind_and_the_next_waits() -> None:
    go, order = threading.Event(), []
    behind = Behind()

    def first() -> None:
        assert go.wait(60)
        order.append(1)

    behind.start(first)
    assert order == []
    threading.Timer(0.05, go.set).start()
    behind.start(lambda: order.append(2))
    assert order[0] == 1
    behind.wait()
    assert order == [1, 2]
    behind.wait()


def test_an_error_is_raised_once_by_what_comes_next() -> None:
    behind, done = Behind(), []
    behind.start(fail)
    with pytest.raises(ValueError, match="wrong"):
        behind.start(lambda: done.append(1))
    behind.wait()
    assert done == []
    behind.start(fail)
    with pytest.raises(ValueError, match="wrong"):
        behind.wait()
    behind.wait()


def test_a_program_that_ends_finishes_the_job(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from barrow.train.checkpoint_behind import Behind\n"
        "def job():\n"
        "    time.sleep(0.2)\n"
        "    Path(sys.argv[1]).write_text('done')\n"
        "Behind().start(job)\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "x"], check=True)
    assert (tmp_path / "x").read_text() == "done"
