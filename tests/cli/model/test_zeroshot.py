from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from barrow.cli.model.clip_options import embed_images
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip.load import load
from barrow.models.clip.variants import VARIANTS
from barrow.models.clip.zero_shot import Floats

CONFIG = ClipConfig(8, VisionConfig(16, 8, 16, 1, 2), TextConfig(530, 12, 16, 1, 2))


def test_classes_of_images(clip_folder: Path, barrow: Callable, tmp_path: Path) -> None:
    """CLIP-1: the same numbers as in Python; JSON, text and a page."""
    options = ["--classes", "red,green, blue", "--model", clip_folder / "model"]
    page = tmp_path / "page.html"
    code, out, err = barrow(
        "model", "zeroshot", clip_folder / "images", *options, "--json", "--out", page
    )
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
    assert page.read_text().count("<tr>") == 2 * 3
    code, out, _ = barrow(
        "model", "zeroshot", files[0], *options, "--top", 1, "--templates", "the {}"
    )
    assert code == 0
    assert len(out.splitlines()) == 2
    barrow("model", "zeroshot", files[0], *options, "--top", 1, "--out", page)
    assert page.read_text().count("<tr>") == 1


def test_accuracy_of_folders_named_as_classes(
    clip_folder: Path, barrow: Callable, tmp_path: Path
) -> None:
    for name in ("red", "green"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.png").write_bytes(
            (clip_folder / "images" / f"{name}.png").read_bytes()
        )
    options = ["--classes", "red,green", "--model", clip_folder / "model"]
    told = json.loads(barrow("model", "zeroshot", tmp_path, *options, "--json").out)
    right = [Path(t["image"]).parent.name == t["classes"][0]["name"] for t in told["images"]]
    assert told["accuracy"] == sum(right) / 2
    out = barrow("model", "zeroshot", tmp_path, *options).out
    expected = f"accuracy: {told['accuracy']:.2%} of 2 images, by their folders' names"
    assert out.splitlines()[-1] == expected
    assert "accuracy" not in barrow("model", "zeroshot", clip_folder / "images", *options).out


def test_many_classes_on_the_command_line(clip_folder: Path, barrow: Callable) -> None:
    """CLIP-1: more names than a file's name may have letters."""
    names = [f"class {number}" for number in range(99)]
    code, out, err = barrow(
        *("model", "zeroshot", clip_folder / "images" / "red.png", "--classes", ",".join(names)),
        *("--model", clip_folder / "model", "--templates", "{}", "--top", 99),
    )
    assert (code, err) == (0, "")
    assert {line.split(maxsplit=2)[2] for line in out.splitlines()[1:]} == set(names)


def test_images_are_held_a_batch_at_a_time(clip_folder: Path) -> None:
    model, preprocess = load(weights=clip_folder / "model", batch=1)
    files = sorted((clip_folder / "images").iterdir())
    sizes: list[int] = []

    def counted(part: list[Path]) -> Floats:
        sizes.append(len(part))
        return preprocess(part)

    found = embed_images(model, counted, files)  # type: ignore[arg-type]
    assert sizes == [1, 1]
    np.testing.assert_array_equal(found, model.encode_image(preprocess(files)))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["model", "zeroshot", "nosuch.png", "--classes", "a,b", "--model", "model"],
            1,
            "nosuch.png does not exist",
        ),
        (
            ["model", "zeroshot", "images", "--classes", "a,b"],
            2,
            "--model",
        ),
        (
            [
                "model",
                "zeroshot",
                "images",
                "--classes",
                "a,b",
                "--templates",
                "x",
                "--model",
                "model",
            ],
            2,
            "a sentence with {}",
        ),
        (
            ["model", "zeroshot", "images", "--classes", "a,a", "--model", "model"],
            1,
            "duplicate class 'a'",
        ),
        (
            ["model", "zeroshot", "cache0", "--classes", "a,b", "--model", "model"],
            1,
            "holds no image",
        ),
        (["model", "zeroshot", "images", "--classes", "a", "--model", "model"], 2, "got only 'a'"),
        (["model", "zeroshot", "images", "--classes", ",", "--model", "model"], 2, "got none"),
        (
            ["model", "zeroshot", "images", "--classes", "no.txt", "--model", "model"],
            1,
            "no.txt does not exist",
        ),
        (
            ["model", "zeroshot", "images", "--classes", "latin.txt", "--model", "model"],
            1,
            "latin.txt is not UTF-8",
        ),
        (
            [
                "model",
                "zeroshot",
                "images",
                "--classes",
                "a,b",
                "--templates",
                "latin.txt",
                "--model",
                "model",
            ],
            1,
            "latin.txt is not UTF-8",
        ),
        (["model", "similar", "images", " ", "--model", "model"], 2, "got none"),
        (["model", "similar", "images", "no.txt", "--model", "model"], 1, "no.txt does not exist"),
        (
            ["model", "similar", "images", "red thing " * 90, "--model", "model"],
            1,
            "at most 12 tokens",
        ),
        (["model", "probe", "images", "--model", "model"], 1, "has images in 0 folders"),
        (["model", "probe", "nosuch", "--model", "model"], 1, "nosuch is not a folder"),
        (
            ["model", "similar", "images", "red thing " * 9, "--model", "model"],
            1,
            "at most 12 tokens",
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
    (clip_folder / "latin.txt").write_bytes(b"caf\xe9")
    found = barrow(*arguments)
    assert found.code == code
    assert words in found.err


def test_truncation_is_said(
    clip_folder: Path, barrow: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clip_folder)
    code, _, err = barrow(
        "model", "similar", "images", "red thing " * 9, "--model", "model", "--truncate"
    )
    assert code == 0
    assert "1 of 1 texts were cut to 12 tokens" in err


def test_an_image_that_is_none_is_named(
    clip_folder: Path, barrow: Callable, tmp_path: Path
) -> None:
    (tmp_path / "broken.png").write_bytes(b"nothing")
    code, _, err = barrow(
        "model",
        "zeroshot",
        tmp_path / "broken.png",
        "--classes",
        "a,b",
        "--model",
        clip_folder / "model",
    )
    assert code == 1
    assert "broken.png" in err


def test_random_weights_are_said(
    clip_folder: Path, barrow: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VARIANTS, "ViT-B/32", CONFIG)
    code, _, err = barrow(
        *(
            "model",
            "zeroshot",
            clip_folder / "images",
            "--classes",
            "red,green",
            "--model",
            "ViT-B/32",
        ),
        *("--tokenizer", clip_folder / "model"),
    )
    assert code == 0
    assert "random weights of seed 0: what follows means nothing" in err
