from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow.models.clip_config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip_load import load
from barrow.models.clip_variants import VARIANTS

CONFIG = ClipConfig(8, VisionConfig(16, 8, 16, 1, 2), TextConfig(530, 12, 16, 1, 2))


def test_classes_of_images(clip_folder: Path, barrow: Callable, tmp_path: Path) -> None:
    """CLIP-1: the same numbers as in Python; JSON, text and a page."""
    options = ["--classes", "red,green, blue", "--weights", clip_folder / "model"]
    page = tmp_path / "page.html"
    code, out, err = barrow("zeroshot", clip_folder / "images", *options, "--json", "--page", page)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [Path(t["image"]).name for t in told] == ["green.png", "red.png"]
    model, preprocess = load(weights=clip_folder / "model")
    files = sorted((clip_folder / "images").iterdir())
    expected = model.zero_shot(preprocess(files), ["red", "green", "blue"])
    found = {c["name"]: c["probability"] for c in told[0]["classes"]}
    for number, name in enumerate(["red", "green", "blue"]):
        assert found[name] == pytest.approx(float(expected.probabilities[0, number]), rel=1e-5)
    assert page.read_text().count("<figure>") == 2
    code, out, _ = barrow("zeroshot", files[0], *options, "--top", 1, "--templates", "the {}")
    assert code == 0
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["zeroshot", "nosuch.png", "--classes", "a,b"], 1, "nosuch.png does not exist"),
        (["zeroshot", "images", "--classes", "a,b"], 1, "which model? There are RN50"),
        (
            ["zeroshot", "images", "--classes", "a,b", "--templates", "x", "--weights", "model"],
            2,
            "a sentence with {}",
        ),
        (["zeroshot", "images", "--classes", "a,a", "--weights", "model"], 1, "'a' is there twice"),
        (["zeroshot", "cache0", "--classes", "a,b", "--weights", "model"], 1, "holds no image"),
        (["probe", "images", "--weights", "model"], 1, "has images in 0 folders"),
        (["probe", "nosuch", "--weights", "model"], 1, "nosuch is no folder"),
        (
            ["similar", "images", "red thing " * 9, "--weights", "model"],
            1,
            "the model takes 12",
        ),
    ],
)
def test_bad_arguments(
    clip_folder: Path,
    arguments: list[str],
    code: int,
    words: str,
    barrow: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(clip_folder)
    (clip_folder / "cache0").mkdir(exist_ok=True)
    found = barrow(*arguments)
    assert found.code == code
    assert words in found.err


def test_truncation_is_said(
    clip_folder: Path, barrow: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clip_folder)
    code, _, err = barrow("similar", "images", "red thing " * 9, "--weights", "model", "--truncate")
    assert code == 0
    assert "1 of 1 texts were cut to 12 tokens" in err


def test_an_image_that_is_none_is_named(
    clip_folder: Path, barrow: Callable, tmp_path: Path
) -> None:
    (tmp_path / "broken.png").write_bytes(b"nothing")
    code, _, err = barrow(
        "zeroshot", tmp_path / "broken.png", "--classes", "a,b", "--weights", clip_folder / "model"
    )
    assert code == 1
    assert "broken.png" in err


def test_random_weights_are_said(
    clip_folder: Path, barrow: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VARIANTS, "ViT-B/32", CONFIG)
    code, _, err = barrow(
        *("zeroshot", clip_folder / "images", "--classes", "red,green", "--model", "ViT-B/32"),
        *("--bpe", clip_folder / "model"),
    )
    assert code == 0
    assert "no --weights: random weights of seed 0, so what follows means nothing" in err
