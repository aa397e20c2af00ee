from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from barrow.errors import WriteFailed
from barrow.weights.atomic_file import atomic_file, write_bytes


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "x"
    with atomic_file(path) as writer:
        writer.write(b"ab")
        writer.write(memoryview(b"cd" * 10))
        assert not path.exists()
    assert path.read_bytes() == b"ab" + b"cd" * 10
    written = writer.as_written(path)
    assert (written.path, written.num_bytes) == (path, 22)
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert os.listdir(path.parent) == ["x"]


def test_an_exception_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_bytes(path, b"old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as writer:
        writer.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WriteFailed, match="x could not be written: No space left on device"):
        write_bytes(tmp_path / "x", b"data")
    assert os.listdir(tmp_path) == []


def test_what_is_written_is_synced_before_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("sync"), sync(fd))[1])
    monkeypatch.setattr(Path, "replace", lambda a, b: (events.append("name"), replace(a, b))[1])
    write_bytes(tmp_path / "x", b"data")
    assert events == ["sync", "name", "sync"]


def test_short_writes_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    write_bytes(tmp_path / "x", b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"
