from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from barrow import nn
from barrow.errors import ConfigError
from barrow.models.decoder.model import DecoderConfig
from barrow.train import Run
from barrow.train.tasks.causal import CausalTask


def test_the_store_decides_the_vocabulary(with_model: Callable[..., Run]) -> None:
    fitted = CausalTask(with_model(vocab_size=7)).fitted()
    assert isinstance(fitted.model, DecoderConfig)
    assert fitted.model.vocab_size == 259


def test_a_run_without_a_store(run: Run) -> None:
    with pytest.raises(ConfigError, match="--store FOLDER"):
        CausalTask(replace(run, store="")).data()


def test_work_is_every_token_by_the_formula(run: Run) -> None:
    """6N + 12·L·d·T of each, by hand: one layer, width 16, rows of 16."""
    work = CausalTask(run).work({"tokens": np.zeros((8, 16))}, 1000)
    assert work.size == 128
    assert work.flops == 128 * (6 * 1000 + 12 * 1 * 16 * 16)


def test_validation_losses_drop_nothing(with_model: Callable[..., Run]) -> None:
    """With dropout two keys give two losses of training, and one of evaluation."""
    task = CausalTask(with_model(dropout=0.5))
    params = task.model.init(jax.random.key(0), *task.example)
    stream = task.data().stream
    batch = {**stream.batch(0).arrays()}

    def losses(loss: Callable) -> set[float]:
        keys = jax.random.split(jax.random.key(1))
        return {float(loss(params, nn.Tree(), batch, key).total) for key in keys}

    assert len(losses(task.objective(None).loss)) == 2
    assert len(losses(task.evaluation(None).loss)) == 1


def test_validation_is_what_the_run_names(run: Run, validation: Path) -> None:
    task = CausalTask(run)
    assert task.validation(task.data()) is None
    task = CausalTask(replace(run, validation=str(validation)))
    found = task.validation(task.data())
    assert found is not None
    assert found.stream.data.store.folder == validation
    assert found.num_steps is not None
