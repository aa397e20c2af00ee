from __future__ import annotations

import multiprocessing
from pathlib import Path

import jobs

from barrow.engine import Store
from barrow.engine.processes import ProcessWorkers


def test_stopping_leaves_no_process(tmp_path: Path) -> None:
    workers = ProcessWorkers(Store(tmp_path), 2)
    for task in jobs.spins(4, seconds=30):
        workers.start(task)
    workers.stop()
    assert multiprocessing.active_children() == []
