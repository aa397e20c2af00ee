from __future__ import annotations

import errno
import os
from pathlib import Path

import jobs
import pytest

from barrow.engine import File, Outputs, Stage, Store, Task
from barrow.errors import WriteFailed


def test_done_means_the_folder_exists(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("abc")
    store = Store(tmp_path / "store")
    task = copying(source)
    assert not store.has(task.key)
    store.perform(task)
    assert store.has(task.key)
    assert (store.path(task.key) / "result.txt").read_text() == "ABC"
    source.unlink()
    store.perform(task)  # nothing to do, so nothing is missed


def test_a_failed_task_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    task = jobs.failing()
    with pytest.raises(ValueError, match="cannot be done"):
        store.perform(task)
    assert not store.has(task.key)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_cleaning_keeps_what_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tasks = jobs.spins(4)
    for task in tasks:
        store.perform(task)
    left_behind = tmp_path / "ab" / ".unfinished.abc.1.ff"
    left_behind.mkdir(parents=True)
    store.clean({tasks[1].key, tasks[2].key})
    assert [store.has(task.key) for task in tasks] == [False, True, True, False]
    assert not left_behind.exists()


def copying(source: Path) -> Task[jobs.Result]:
    return jobs.COPY_UPPER.task("t", jobs.Upper(), jobs.Inputs((File(source, "abc"),)))


def fill_the_disk(settings: None, inputs: None, out: Outputs) -> None:
    """Writes to a device that is always full."""
    del out, inputs, settings
    with Path("/dev/full").open("wb", buffering=0) as file:
        file.write(b"x")


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """The system's own error says neither which file nor where."""
    store = Store(tmp_path)
    task = Stage("full", 1, fill_the_disk, Outputs).task("t", None, None)
    with pytest.raises(WriteFailed, match=f"{task.key}.* could not be written: No space left on"):
        store.perform(task)


def test_a_missing_input_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Store(tmp_path / "s").perform(copying(tmp_path / "x"))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "x"))


def test_a_result_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, rename = os.fsync, Path.replace

    def note_sync(descriptor: int) -> None:
        events.append(Path(f"/proc/self/fd/{descriptor}").readlink().name[:11])
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", lambda a, b: (events.append("rename"), rename(a, b))[1])
    (tmp_path / "in.txt").write_text("abc")
    task = copying(tmp_path / "in.txt")
    Store(tmp_path / "store").perform(task)
    assert events == ["result.txt", ".unfinished", "rename", task.key[:2]]
