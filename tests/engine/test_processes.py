from __future__ import annotations

import multiprocessing
from pathlib import Path

import jobs

from barrow.engine import Store, Task
from barrow.engine.processes import ProcessWorkers


def test_stopping_leaves_no_process(tmp_path: Path) -> None:
    workers = ProcessWorkers(Store(tmp_path), 2)
    for n in range(4):
        workers.start(Task(f"{n}", jobs.spin, 1, settings={"seconds": 30, "n": n}))
    workers.stop()
    assert multiprocessing.active_children() == []
