from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from barrow.errors import WriteFailed
from barrow.files import AtomicFile, atomic_file, link_or_copy, write_bytes


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "x"
    with atomic_file(path) as writer:
        writer.write(b"ab")
        writer.write(memoryview(b"cd" * 10))
        assert not path.exists()
    assert path.read_bytes() == b"ab" + b"cd" * 10
    written = writer.written
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
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("sync"), sync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("name"), replace(a, b))[1])
    write_bytes(tmp_path / "x", b"data")
    assert events == ["sync", "name", "sync"]


def test_short_writes_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    write_bytes(tmp_path / "x", b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


def test_two_writers_of_one_name_do_not_meet(tmp_path: Path) -> None:
    """Each has a name of its own, also within a process; the last one to finish wins."""
    path = tmp_path / ("long" * 60)
    first, second = AtomicFile(path), AtomicFile(path)
    first.write(b"first")
    second.write(b"second")
    first.publish()
    assert path.read_bytes() == b"first"
    second.publish()
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == [path.name]


def test_a_taken_name_is_left_alone(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "x")
    (tmp_path / "x").write_text("theirs")
    with pytest.raises(FileExistsError, match="x was created by another process meanwhile"):
        file.publish(replace=False)
    file.discard()
    assert (tmp_path / "x").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["x"]


def test_an_error_of_the_caller_stays_what_it_is(tmp_path: Path) -> None:
    """Only the disk's own refusals are said to be of the file that is written."""
    with pytest.raises(FileNotFoundError, match="input"), atomic_file(tmp_path / "x"):
        (tmp_path / "input").read_bytes()
    assert os.listdir(tmp_path) == []


def test_a_real_device_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda path, flags, *a: opened("/dev/full", os.O_WRONLY) if a else opened(path, flags),
    )
    with pytest.raises(WriteFailed, match=r"shard could not be written: No space left on device"):
        write_bytes(tmp_path / "shard", b"x")


@pytest.mark.parametrize("can_link", [True, False])
def test_a_second_name_or_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    events: list[str] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("sync"), sync(fd))[1])
    if not can_link:
        monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_text("text")
    for _ in range(2):  # again: a second name stays, a copy is written again
        link_or_copy(tmp_path / "a", tmp_path / "b")
        assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert (tmp_path / "b").read_text() == "text"
    assert (tmp_path / "a").samefile(tmp_path / "b") == can_link
    assert events == (["sync"] if can_link else ["sync", "sync"] * 2)  # the copy, the folder


def test_a_file_need_not_be_hashed(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "x", hashed=False)
    file.write(b"abc")
    written = file.publish()
    assert (written.num_bytes, written.sha256) == (3, "")
    assert (tmp_path / "x").read_bytes() == b"abc"
