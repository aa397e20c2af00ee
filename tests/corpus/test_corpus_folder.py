from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from barrow.corpus.corpus_folder import locked, refuse_other_folders
from barrow.errors import NotFound


@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [(False, False, True), (False, True, False), (True, False, False), (True, True, False)],
)
def test_builds_share_a_folder_and_takedowns_do_not(
    tmp_path: Path, first: bool, second: bool, allowed: bool
) -> None:
    refused = pytest.raises(FileExistsError, match="another process is writing")
    with (
        locked(tmp_path, alone=first),
        contextlib.nullcontext() if allowed else refused,
        locked(tmp_path, alone=second),
    ):
        pass
    with locked(tmp_path, alone=True):
        pass


def test_other_folders(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no manifest.json"):
        refuse_other_folders(tmp_path)
