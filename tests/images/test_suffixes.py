from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from barrow.images import decode
from barrow.images.decode import SUFFIXES, is_image


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_named_so_can_be_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    Image.new("L" if suffix == ".pgm" else "RGB", (4, 3)).save(path)
    assert decode(path.read_bytes(), name=path.name).size == (4, 3)
    assert is_image(path)
    assert is_image(f"folder/A{suffix.upper()}")


@pytest.mark.parametrize("name", ["a.txt", "png", ".png", "a.png/b", "a.png.txt", ""])
def test_what_is_none(name: str) -> None:
    assert not is_image(name)
