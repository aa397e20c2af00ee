from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from barrow.files import listed, publish_folder, remove_unfinished, sync_folder


def test_a_folder_replaces_the_one_before_after_all_of_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("part", "new"), ("out", "old")):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").write_text(text)
    events: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append(f"sync {path.relative_to(tmp_path)}")
        sync(descriptor)

    def renamed(path: Path, to: Path) -> Path:
        events.append(f"name {path.name}")
        return rename(path, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    publish_folder(tmp_path / "part", tmp_path / "out")
    assert events == [
        *("sync part/deep/file", "sync part/deep", "sync part"),
        *("name out", "name part", "sync ."),
    ]
    assert (tmp_path / "out" / "deep" / "file").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_listed_was_published(tmp_path: Path) -> None:
    for name in ("b", "a", ".a.1.writing", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / ".c.2.writing").mkdir()
    assert listed(tmp_path) == ["a", "b"]
    remove_unfinished(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".hidden", "a", "b"]
    assert listed(tmp_path / "nowhere") == []


@pytest.mark.parametrize(("code", "is_raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_file_system_that_cannot_sync_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_raised: bool
) -> None:
    def refuse(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    if is_raised:
        with pytest.raises(OSError, match="Input/output"):
            sync_folder(tmp_path)
    else:
        sync_folder(tmp_path)
