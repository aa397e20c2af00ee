from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

import pytest

from barrow.files import locked


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_only_those_who_share_it_hold_a_folder_together(
    tmp_path: Path, first: bool, second: bool
) -> None:
    refused = pytest.raises(FileExistsError, match="another process is busy; wait until")
    with (
        locked(tmp_path, is_shared=first),
        contextlib.nullcontext() if first and second else refused,
        locked(tmp_path, is_shared=second, others="busy"),
    ):
        pass
    with locked(tmp_path):
        pass


def test_it_goes_with_the_process(tmp_path: Path) -> None:
    held, let = os.pipe()
    child = os.fork()
    if child == 0:
        with locked(tmp_path):
            os.write(let, b"x")
            os.kill(os.getpid(), 9)
    os.read(held, 1)
    os.waitpid(child, 0)
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some networks, where a lock wants a file that is open for writing."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path):
        pass


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(tmp_path / "nowhere"):
        pass
