from __future__ import annotations

from pathlib import Path

import pytest

from barrow.cli.model.clip_options import find_images
from barrow.errors import NotFound


def test_files_as_they_are_and_images_in_folders(tmp_path: Path) -> None:
    for name in ("b.PNG", "a/c.jpg", "a/notes.txt", "odd.xyz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert find_images([tmp_path / "odd.xyz", tmp_path]) == [
        *(tmp_path / "odd.xyz", tmp_path / "a" / "c.jpg", tmp_path / "b.PNG")
    ]
    with pytest.raises(NotFound, match="none does not exist"):
        find_images([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="holds no image"):
        find_images([tmp_path / "empty"])
