from __future__ import annotations

from pathlib import Path

import jobs

from barrow.engine import Store
from barrow.engine.workers import InlineWorkers


def test_tasks_are_done_by_the_caller(tmp_path: Path) -> None:
    workers = InlineWorkers(Store(tmp_path))
    good, bad = jobs.spins(1)[0], jobs.failing()
    workers.start(good)
    workers.start(bad)
    assert workers.wait()[:2] == (good, None)
    task, error, _ = workers.wait()
    assert task is bad
    assert "cannot be done" in str(error)
