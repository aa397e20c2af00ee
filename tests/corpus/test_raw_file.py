from __future__ import annotations

import os
from pathlib import Path

from barrow.corpus.raw_file import load_raw, open_raw, shown
from barrow.corpus.reading import Reject


def reason(found: object) -> str:
    assert isinstance(found, Reject)
    return found.reason


def test_bytes_or_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert load_raw(path, max_bytes=3) == b"abc"
    assert reason(load_raw(path, max_bytes=2)) == "too-large"
    assert reason(open_raw(tmp_path)) == "not-a-file"
    assert reason(open_raw(tmp_path / "none")) == "unreadable"
    assert reason(open_raw(Path("a\0b"))) == "unreadable"
    (tmp_path / "empty").touch()
    assert reason(open_raw(tmp_path / "empty")) == "empty"
    os.mkfifo(tmp_path / "pipe")
    assert reason(open_raw(tmp_path / "pipe")) == "not-a-file"


def test_names_can_always_be_shown() -> None:
    assert shown(os.fsdecode(b"caf\xe9")) == "caf\\xe9"
