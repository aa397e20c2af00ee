from __future__ import annotations

from pathlib import Path

import jobs
import pytest

from barrow.engine import Store, Task


def test_done_means_the_folder_exists(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("abc")
    store = Store(tmp_path / "store")
    task = Task("t", jobs.copy_upper, 1, files=(str(source),))
    assert not store.has(task.key)
    store.perform(task)
    assert store.has(task.key)
    assert (store.path(task.key) / "result.txt").read_text() == "ABC"
    source.unlink()
    store.perform(task)  # nothing to do, so nothing is missed


def test_a_failed_task_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    task = Task("t", jobs.fail, 1)
    with pytest.raises(ValueError, match="cannot be done"):
        store.perform(task)
    assert not store.has(task.key)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_cleaning_keeps_what_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tasks = [Task("t", jobs.spin, 1, settings={"seconds": 0, "n": n}) for n in range(4)]
    for task in tasks:
        store.perform(task)
    left_behind = tmp_path / "ab" / ".unfinished.abc.1.ff"
    left_behind.mkdir(parents=True)
    store.clean({tasks[1].key, tasks[2].key})
    assert [store.has(task.key) for task in tasks] == [False, True, True, False]
    assert not left_behind.exists()
