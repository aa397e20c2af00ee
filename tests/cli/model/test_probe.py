from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image


def test_probe(clip_folder: Path, barrow: Callable, tmp_path: Path) -> None:
    """CLIP-11: classes that a line tells apart are told apart, on images that were not seen."""
    rng = np.random.default_rng(0)
    for name, level in (("bright", 220), ("dark", 30)):
        (tmp_path / name).mkdir()
        for number in range(8):
            noise = rng.integers(-20, 20, (20, 20, 3)) + level
            image = Image.fromarray(noise.clip(0, 255).astype(np.uint8))
            image.save(tmp_path / name / f"{number}.png")
    code, out, _ = barrow("model", "probe", tmp_path, "--model", clip_folder / "model", "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["images"], told["test"], told["classes"]) == (16, 4, 2)
    assert told["accuracy"] == 1.0
    assert told["largest_class"] == 0.5


def test_a_class_with_too_few_images_is_named(
    clip_folder: Path, barrow: Callable, tmp_path: Path
) -> None:
    for name, num in (("many", 4), ("few", 2)):
        (tmp_path / name).mkdir()
        for number in range(num):
            Image.new("RGB", (8, 8)).save(tmp_path / name / f"{number}.png")
    code, _, err = barrow("model", "probe", tmp_path, "--model", clip_folder / "model")
    assert code == 1
    assert "few has fewer than 3 images (2)" in err
