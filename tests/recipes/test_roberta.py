from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from barrow import config
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.nn import num_params
from barrow.recipes import TRAINING, roberta
from barrow.train import Run


def size(run: Run) -> int:
    assert isinstance(run.model, RobertaConfig)
    model, tokens = Roberta(run.model), jax.ShapeDtypeStruct((1, 1), jnp.int32)
    return num_params(jax.eval_shape(lambda: model.init(jax.random.key(0), tokens)))


def test_sizes() -> None:
    """ROBERTA-1: distilroberta-base has 82,170,201 parameters."""
    assert size(roberta.distil()) == 82_170_201
    assert size(roberta.tiny()) < 1_000_000


@pytest.mark.parametrize("name", roberta.RUNS)
def test_runs_are_settings(name: str) -> None:
    assert "roberta" in TRAINING
    run = roberta.RUNS[name]()
    assert config.from_json(Run, config.to_json(run)) == run
    assert isinstance(run.model, RobertaConfig)
    assert run.seq_len == run.model.context
    assert run.optimizer.schedule.warmup < run.steps
    assert all(batch % (8 * run.step.accumulate) == 0 for batch in run.batches)
