from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image


def fill(folder: Path) -> Path:
    folder.mkdir()
    for name in ("grey_cat", "red_dog"):
        Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(folder / f"{name}.png")
    (folder / "broken.png").write_bytes(b"<html>")
    return folder


def test_index_and_show(barrow: Callable, tmp_path: Path) -> None:
    source = fill(tmp_path / "pics")
    code, out, err = barrow(
        "tokens", "pairs", "index", source, "--out", tmp_path / "index", "--check"
    )
    assert (code, err) == (0, "")
    assert "2 pairs, 2 captions" in out
    assert "every image decoded" in out
    assert "left out: 1 × not-an-image" in out
    code, out, _ = barrow("tokens", "pairs", "show", tmp_path / "index", "-n", 1)
    assert code == 0
    assert f"pics  folder {source}: 2 pairs" in out
    assert "0 grey_cat.png: grey cat" in out
    assert "red dog" not in out
    code, out, _ = barrow("tokens", "pairs", "show", tmp_path / "index", "--json")
    assert json.loads(out)["left_out"] == {"not-an-image": 1}


def test_unchecked(barrow: Callable, tmp_path: Path) -> None:
    source = fill(tmp_path / "pics")
    code, out, _ = barrow(
        "tokens", "pairs", "index", source, "--out", tmp_path / "i", "--captions", "name"
    )
    assert code == 0
    assert "3 pairs" in out
    assert "images not checked (see --check)" in out


def test_what_goes_wrong(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("tokens", "pairs", "show", tmp_path)
    assert (code, "barrow tokens pairs index makes one" in err) == (1, True)
    code, _, err = barrow("tokens", "pairs", "index", tmp_path / "none", "--out", tmp_path / "i")
    assert (code, "no such file or folder" in err) == (1, True)
    assert barrow("tokens", "pairs", "index", tmp_path)[0] == 2
