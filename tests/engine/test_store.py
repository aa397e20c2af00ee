from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jobs
import pytest

from barrow.engine import Store, Task
from barrow.errors import WriteFailed


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


def fill_the_disk(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Writes to a device that is always full."""
    del out, files, settings
    with Path("/dev/full").open("wb", buffering=0) as file:
        file.write(b"x")


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """The system's own error says neither which file nor where."""
    store = Store(tmp_path)
    task = Task("t", fill_the_disk, 1)
    with pytest.raises(WriteFailed, match=f"{task.key}.* could not be written: No space left on"):
        store.perform(task)


def test_a_missing_input_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Store(tmp_path / "s").perform(Task("t", jobs.copy_upper, 1, files=(str(tmp_path / "x"),)))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "x"))


def test_a_result_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, rename = os.fsync, Path.rename

    def note_sync(descriptor: int) -> None:
        events.append(Path(f"/proc/self/fd/{descriptor}").readlink().name[:11])
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "rename", lambda a, b: (events.append("rename"), rename(a, b))[1])
    (tmp_path / "in.txt").write_text("abc")
    task = Task("t", jobs.copy_upper, 1, files=(str(tmp_path / "in.txt"),))
    Store(tmp_path / "store").perform(task)
    assert events == ["result.txt", ".unfinished", "rename", task.key[:2]]
