"""CLIP through the loop: pairs of a folder, learning, resuming, export (BEYOND-9, CLIP-12)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from barrow.errors import ConfigError, StoreError
from barrow.images.normalise import normalise
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.convert import convert
from barrow.stream.pairs import PairSettings, index_pairs
from barrow.train import (
    AdamW,
    CheckpointSettings,
    Cosine,
    EvaluationSettings,
    Run,
    StepSettings,
    fit,
)
from barrow.train.tasks.contrastive import ContrastiveTask
from barrow.train.tasks.task import task_of
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("compiled_once", "one_device")

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "grey": (90, 90, 90)}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of eight kinds, four colours plain and striped, named by their folders."""
    from PIL import Image

    root = tmp_path_factory.mktemp("pairs")
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        for kind in ("plain", "striped"):
            folder = root / "pictures" / f"{kind} {name}"
            folder.mkdir(parents=True)
            for number in range(4):
                pixels = np.full((20, 20, 3), colour) + rng.integers(-20, 20, (20, 20, 3))
                if kind == "striped":
                    pixels[::4] = 255
                Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{number}.png")
    index_pairs(root / "pictures", root / "index")
    return root / "index"


@pytest.fixture
def run(index: Path) -> Run:
    model = ClipConfig(
        embed=16,
        image=VisionConfig(resolution=16, patch=8, width=32, layers=2, heads=2),
        text=TextConfig(vocab_size=7, context=18, width=32, layers=2, heads=2),
    )
    made = Run(
        model=model,
        data=PairSettings(batch=16, min_area=0.8),
        steps=30,
        pairs=str(index),
        validation=str(index),
        tokenizer="bytes",
        optimizer=AdamW(Cosine(peak=3e-3, warmup=3), beta2=0.98),
        step=StepSettings(ema=0.9),
        evaluation=EvaluationSettings(15),
        checkpoint=CheckpointSettings(15),
        log_every=10,
    )
    return task_of(made).fitted()


def test_the_tokenizer_decides_the_vocabulary(run: Run) -> None:
    assert isinstance(run.model, ClipConfig)
    assert run.model.text.vocab_size == 514
    assert isinstance(task_of(run), ContrastiveTask)
    assert "chance among 16 pairs: 2.7726 nats per pair" in task_of(run).data().baseline()


def test_it_learns_goes_on_and_transformers_opens_it(run: Run, tmp_path: Path) -> None:
    state = fit(run, tmp_path / "run")
    lines = read_log(tmp_path / "run" / "log.jsonl")
    held = [line for line in lines if "validation_loss" in line]
    assert [line["step"] for line in held] == [14, 29]
    assert held[-1]["validation_pairs"] == 32
    assert held[-1]["validation_loss"] < lines[0]["loss"] - 0.3
    assert 0 < held[-1]["validation_image_to_text"] <= 1
    assert lines[-1]["pairs_per_second"] > 0
    assert 1 < lines[-1]["scale"] <= 100
    assert state.ema is not None
    again = fit(replace(run, pairs=str(Path(run.pairs))), tmp_path / "run")
    assert int(again.step) == 30

    import torch
    from transformers import CLIPModel

    convert(tmp_path / "run", tmp_path / "hf", to="hf")
    theirs = CLIPModel.from_pretrained(tmp_path / "hf").eval()
    task = task_of(run)
    batch = task.data().stream.batch(0, rows=slice(0, 4))
    model = task.model
    pixels = normalise(batch.images)
    images, texts, _ = jax.jit(model.apply)(state.params, pixels, batch.texts)
    with torch.no_grad():
        given = torch.tensor(pixels).permute(0, 3, 1, 2)
        seen = theirs.visual_projection(theirs.vision_model(given).pooler_output)
        read = theirs.text_projection(
            theirs.text_model(torch.tensor(batch.texts).long()).pooler_output
        )
    np.testing.assert_allclose(images, seen.numpy(), atol=1e-4)
    np.testing.assert_allclose(texts, read.numpy(), atol=1e-4)


def test_work_is_three_times_the_products_forward(run: Run) -> None:
    """By hand for ViT-B/32: 12·width² multiply-adds a token and layer, attention left out."""
    work = task_of(replace(run, model=ClipConfig())).work({"mask": np.ones(2)}, 0)
    assert work.size == 2
    image, text = 12 * 12 * 768**2 * 50, 12 * 12 * 512**2 * 77
    assert work.flops / 2 == pytest.approx(3 * 2 * (image + text), rel=0.1)


def test_what_cannot_begin(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--pairs INDEX"):
        task_of(replace(run, pairs="")).data()
    model = run.model
    assert isinstance(model, ClipConfig)
    small = replace(model, text=replace(model.text, vocab_size=300))
    with pytest.raises(ConfigError, match=r"514 ids, .* 300: set model.text.vocab_size=514"):
        task_of(replace(run, model=small)).data()
    data = task_of(run).data()
    data.save(tmp_path / "stream.json")
    data.check(tmp_path / "stream.json")
    longer = replace(model, text=replace(model.text, context=20))
    other = task_of(replace(run, model=longer)).data()
    with pytest.raises(StoreError, match=r"tokenizer \w+-\d+, .* has \w+-20: every batch"):
        other.check(tmp_path / "stream.json")
    assert data.describe(3)[0].startswith("row 0: ")
    assert set(data.about()) == {"tokenizer", "stream"}
