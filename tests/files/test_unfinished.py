"""What killed writers leave, and writers that meet."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.killed import killed_at

from barrow.files import (
    AtomicFile,
    atomic_path,
    new_path,
    remove_result,
    remove_unfinished,
    write_bytes,
)
from barrow.files.unfinished import hidden_file


def write_file(path: Path) -> None:
    write_bytes(path, b"new")


def write_path(path: Path) -> None:
    with atomic_path(path) as part:
        write_bytes(part, b"new")


def write_folder(path: Path, *, replace: bool = True) -> None:
    with atomic_path(path, replace=replace) as part:
        write_bytes(part / "a", b"new")


@pytest.mark.parametrize("write", [write_file, write_path, write_folder])
def test_the_next_writer_removes_what_a_killed_one_left(
    tmp_path: Path, write: Callable[[Path], object]
) -> None:
    """Killed before each change of the disk in turn, and run again each time."""
    write(tmp_path / "alone")
    number, is_killed = 0, True
    while is_killed:
        number += 1
        path = tmp_path / str(number) / "x"
        is_killed = killed_at(number, lambda path=path: write(path))
        if not path.exists() or write is not write_path:
            write(path)
        else:
            with pytest.raises(ValueError, match="already exists"):
                new_path(path)
        assert os.listdir(path.parent) == ["x"]
        found, expected = (
            (p / "a" if p.is_dir() else p).read_bytes() for p in (path, tmp_path / "alone")
        )
        assert found == expected
    assert number >= 7


def test_a_folder_that_was_being_replaced_is_there_again(tmp_path: Path) -> None:
    """The new one: it was complete before the old one was moved."""
    path = tmp_path / "x"
    seen = set()
    number = 0
    while True:
        number += 1
        with atomic_path(path, replace=True) as part:
            write_bytes(part / "a", b"old")
        is_killed = killed_at(number, lambda: write_folder(path))
        seen.add(path.exists())
        with pytest.raises(ValueError, match="already exists"):
            new_path(path)
        assert os.listdir(tmp_path) == ["x"]
        assert (path / "a").read_bytes() in (b"old", b"new")
        if not is_killed:
            break
    assert seen == {True, False}


def test_a_folder_is_removed_at_once(tmp_path: Path) -> None:
    write_folder(tmp_path / "x")
    assert killed_at(2, lambda: remove_result(tmp_path / "x"))
    (left,) = tmp_path.iterdir()
    assert (left / "a").exists()
    write_folder(tmp_path / "x")
    assert os.listdir(tmp_path) == ["x"]


def test_a_failed_exchange_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_folder(path)
    rename = os.replace

    def fail(of: Path, to: Path) -> None:
        if to == path and not of.name.startswith(".before"):
            raise OSError(5, "Input/output error")
        rename(of, to)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="Input/output"):
        write_folder(path)
    assert os.listdir(tmp_path) == ["x"]


def test_what_others_are_writing_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    first = AtomicFile(path)
    with atomic_path(tmp_path / "y") as part:
        write_bytes(part, b"first")
        write_bytes(path, b"second")
        new_path(tmp_path / "y")
        assert len(os.listdir(tmp_path)) == 3
    first.write(b"first")
    first.publish()
    assert path.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == ["x", "y"]


@pytest.mark.parametrize(("name", "other"), [("a.b", "a"), ("x" * 60 + "1", "x" * 60 + "2")])
def test_an_exchange_of_folders_is_completed_under_its_own_name(
    tmp_path: Path, name: str, other: str
) -> None:
    """Not removed by the writer of a result whose name begins alike."""
    path = tmp_path / name
    write_folder(path)
    number = 1
    while path.exists():  # killed between the two renames
        assert killed_at(number, lambda: write_folder(path))
        number += 1
    for _ in range(2):
        write_folder(tmp_path / other)
    assert not path.exists()
    new_path(tmp_path / "unrelated")
    with pytest.raises(ValueError, match="already exists"):
        new_path(path)
    assert (path / "a").read_bytes() == b"new"


def test_what_others_write_in_a_folder_that_is_tidied_stays(tmp_path: Path) -> None:
    """Such as a model that is compressed into the folder of a corpus while it is built again."""
    assert killed_at(2, lambda: write_bytes(tmp_path / "x", b"killed"))
    with atomic_path(tmp_path / "y") as part:
        write_bytes(part / "a", b"new")
        remove_unfinished(tmp_path)
        (left,) = tmp_path.iterdir()
        assert left == part.parent
    assert (tmp_path / "y" / "a").read_bytes() == b"new"


@pytest.mark.parametrize("write", [write_path, lambda path: write_folder(path, replace=False)])
def test_of_two_writers_one_wins(tmp_path: Path, write: Callable[[Path], object]) -> None:
    path = tmp_path / "x"
    with (
        pytest.raises(FileExistsError, match="x was created by another process meanwhile"),
        atomic_path(path) as part,
    ):
        write(path)
        (write_file if path.is_file() else write_folder)(part)
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_taken_for_a_leftover_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, num = fcntl.flock, 0

    def late(descriptor: int, how: int) -> None:
        nonlocal num
        num += 1
        if num == 1:  # another writer was faster, and took it away
            (left,) = tmp_path.iterdir()
            left.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    hidden, descriptor = hidden_file(tmp_path / "x")
    os.close(descriptor)
    assert hidden.exists()


def test_where_nothing_can_be_locked_what_may_be_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    file = AtomicFile(tmp_path / "x")
    write_bytes(tmp_path / "x", b"second")
    file.publish()
    assert (tmp_path / "x").read_bytes() == b""
