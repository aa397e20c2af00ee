from __future__ import annotations

import os
from pathlib import Path

import pytest

from barrow.stream.whole_file import whole_file


def test_old_or_new_and_nothing_besides(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with whole_file(path) as hidden:
        hidden.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="halfway"), whole_file(path) as hidden:
        hidden.write_text("ne")
        raise RuntimeError("halfway")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with (
        pytest.raises(FileNotFoundError),
        whole_file(tmp_path / "nowhere" / "a.json") as hidden,
    ):
        hidden.write_text("x")
