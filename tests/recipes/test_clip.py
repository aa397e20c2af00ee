from __future__ import annotations

import jax
import pytest

from barrow import config
from barrow.models.clip.config import ClipConfig
from barrow.models.clip.model import CLIP
from barrow.nn import num_params
from barrow.recipes import TRAINING, clip
from barrow.train import Run


def size(run: Run) -> int:
    assert isinstance(run.model, ClipConfig)
    model = CLIP(run.model)
    return num_params(jax.eval_shape(lambda: model.init(jax.random.key(0), *model.config.example)))


def test_sizes() -> None:
    assert size(clip.b32()) == 151_277_313
    assert size(clip.tiny()) < 1_500_000


def test_pairs_of_a_run() -> None:
    """32 epochs of 400 million."""
    run = clip.b32()
    assert run.steps * run.batches[0] == pytest.approx(32 * 400e6)


@pytest.mark.parametrize("name", clip.RUNS)
def test_runs_are_settings(name: str) -> None:
    assert "clip" in TRAINING
    run = clip.RUNS[name]()
    assert config.from_json(Run, config.to_json(run)) == run
    assert run.step.accumulate == 1
    assert run.optimizer.schedule.warmup < run.steps
    assert all(batch % 8 == 0 for batch in run.batches)
