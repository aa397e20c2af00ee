from __future__ import annotations

import os
from pathlib import Path

import pytest

from barrow.corpus.input.open_raw import load_raw, open_raw, shown
from barrow.corpus.readers.reader import Reject


def reason(path: Path) -> str:
    data = load_raw(path, max_bytes=10)
    assert isinstance(data, Reject)
    opened = open_raw(path)
    if isinstance(opened, Reject):
        assert opened.reason == data.reason
    else:
        opened.close()
    return data.reason


def test_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert load_raw(tmp_path / "a", max_bytes=10) == b"0123456789"
    assert load_raw(tmp_path / "link", max_bytes=10) == b"0123456789"


def test_what_cannot_be_read_is_a_reject(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_bytes(b"0123456789!")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    assert reason(tmp_path / "empty") == "empty"
    assert reason(tmp_path / "large") == "too-large"
    assert reason(tmp_path) == "not-a-file"
    assert reason(tmp_path / "pipe") == "not-a-file"  # and does not wait for a writer
    for name in ("nowhere", "dangling", "loop", "zero\0byte", "n" * 5000):
        assert reason(tmp_path / name) == "unreadable"


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "secret").write_bytes(b"x")
    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    assert reason(tmp_path / "secret") == "unreadable"


def test_an_absurd_size_is_refused_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert reason(tmp_path / "sparse") == "too-large"


def test_names_that_are_not_utf8() -> None:
    assert shown(Path(os.fsdecode(b"caf\xe9.txt"))) == "caf\\xe9.txt"
    assert shown("café") == "café"
