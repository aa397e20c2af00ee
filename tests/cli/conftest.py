from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from barrow.cli.main import run


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def barrow(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run the program in this process."""

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small CLIP model with a tokenizer, and two images."""
    from PIL import Image
    from tests.models.clip_peers import random_params

    from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
    from barrow.models.clip.model import CLIP
    from barrow.models.clip.save import save_huggingface
    from barrow.tokens.train import train_clip

    config = ClipConfig(8, VisionConfig(16, 8, 16, 1, 2), TextConfig(530, 12, 16, 1, 2))
    model = CLIP(config)
    folder = tmp_path_factory.mktemp("clip")
    tokenizer = train_clip(["a photo of a red green blue thing"] * 3, vocab_size=530)
    params = random_params(model, *model.config.example)
    save_huggingface(folder / "model", config, params, tokenizer=tokenizer)
    (folder / "images").mkdir()
    for name in ("red", "green"):
        Image.new("RGB", (30, 20), name).save(folder / "images" / f"{name}.png")
    return folder
