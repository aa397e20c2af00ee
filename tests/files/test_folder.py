from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from barrow.files import atomic_path, listed, remove_unfinished, sync_folder


def test_a_folder_replaces_the_one_before_after_all_of_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, rename = os.fsync, os.replace

    def write(text: str) -> None:
        with atomic_path(tmp_path / "out", replace=True) as part:
            (part / "deep").mkdir(parents=True)
            (part / "deep" / "file").write_text(text)

    def synced(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append("sync " + re.sub(r"[.]out[^/]*", "part", str(path.relative_to(tmp_path))))
        sync(descriptor)

    def renamed(path: Path, to: Path) -> None:
        events.append(f"name {path.name} {to.name}")
        rename(path, to)

    write("old")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write("new")
    assert events == [
        *("sync part/out/deep/file", "sync part/out/deep", "sync part/out", "sync part"),
        *("name out .before", "name out out", "sync ."),
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
