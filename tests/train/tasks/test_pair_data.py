from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from barrow.errors import ConfigError
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.stream.pairs import PairSettings, index_pairs
from barrow.train import Run
from barrow.train.tasks.pair_data import pair_data, validation_pairs

MODEL = ClipConfig(8, VisionConfig(8, 8, 16, 1, 2), TextConfig(514, 12, 16, 1, 2))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six oblong pictures, each with its number in its pixels, of two captions."""
    root = tmp_path_factory.mktemp("pair_data")
    (root / "pictures").mkdir()
    for number in range(6):
        pixels = np.random.default_rng(number).integers(0, 256, (12, 20, 3), np.uint8)
        Image.fromarray(pixels).save(root / "pictures" / f"{number}.png")
        (root / "pictures" / f"{number}.txt").write_text(f"first {number}\nsecond\n")
    index_pairs(root / "pictures", root / "index")
    return root / "index"


def run_of(index: Path, **choices: Any) -> Run:
    data = PairSettings(batch=4, min_area=0.3, templates=("a {}",), **choices)
    told = {"pairs": str(index), "validation": str(index), "tokenizer": "bytes"}
    return Run(model=MODEL, data=data, steps=3, **told)


def test_validation_pairs_are_each_read_once_and_calmly(index: Path) -> None:
    """Squares from the middle and first captions, whatever training draws; so losses compare."""
    held = validation_pairs(run_of(index), MODEL)
    assert held is not None
    assert held.num_steps == 2
    seen = np.concatenate([held.stream.batch(step).pairs for step in range(2)])
    assert sorted(seen.tolist()) == [-1, -1, *range(6)]
    assert all("first" in line and "'a " not in line for line in held.describe(0))
    again = validation_pairs(run_of(index, epochs={"pictures": 3.0}), MODEL)
    assert again is not None
    assert again.num_steps == 2
    assert np.array_equal(again.stream.batch(0).images, held.stream.batch(0).images)
    assert validation_pairs(replace(run_of(index), validation=None), MODEL) is None


def test_identity_is_of_contents(index: Path, tmp_path: Path) -> None:
    run = run_of(index)
    (tmp_path / "one").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "one" / "a.png")
    (tmp_path / "one" / "a.txt").write_text("one")
    index_pairs(tmp_path / "one", tmp_path / "other")
    again, other = (
        pair_data(replace(run, pairs=str(path), data=replace(run.data, batch=1)), MODEL)
        for path in (index, tmp_path / "other")
    )
    assert again.identity == pair_data(run, MODEL).identity != other.identity


def test_training_draws(index: Path) -> None:
    data = pair_data(run_of(index), MODEL)
    assert data.num_steps is None
    assert data.stream.settings.templates == ("a {}",)
    assert {line.split(", ")[1] for line in data.describe(0)} <= {f"{n}.png" for n in range(6)}
    assert "among 4 pairs: 1.3863" in data.baseline()


def test_a_guess_among_the_pairs_that_are_there(index: Path) -> None:
    """Six pairs in batches of 4 are 4 and 2; in a batch of 8 they are 6."""
    held = validation_pairs(run_of(index), MODEL)
    assert held is not None
    expected = (4 * math.log(4) + 2 * math.log(2)) / 6
    assert held.baseline() == f"chance among 4 or fewer pairs: {expected:.4f} nats per pair"
    whole = validation_pairs(replace(run_of(index), data=PairSettings(batch=8)), MODEL)
    assert whole is not None
    assert whole.baseline() == f"chance among 6 pairs: {math.log(6):.4f} nats per pair"


def test_a_batch_larger_than_the_index_is_refused(index: Path) -> None:
    run = replace(run_of(index), data=PairSettings(batch=7))
    with pytest.raises(ConfigError, match=r"at most the 6 pairs of the index, got 7"):
        pair_data(run, MODEL)


def test_captions_that_come_again_are_named(index: Path, tmp_path: Path) -> None:
    each = validation_pairs(run_of(index), MODEL)
    assert each is not None
    assert "caption" not in each.baseline()
    (tmp_path / "same").mkdir()
    for number in range(6):
        pixels = np.random.default_rng(number).integers(0, 256, (12, 20, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "same" / f"{number}.png")
        (tmp_path / "same" / f"{number}.txt").write_text("a photo" if number else "another")
    index_pairs(tmp_path / "same", tmp_path / "index")
    held = validation_pairs(run_of(tmp_path / "index"), MODEL)
    assert held is not None
    line = held.baseline().splitlines()[1]
    assert line.endswith("of them 'a photo': no model can match these by text")
