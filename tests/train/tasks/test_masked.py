"""Masked language models through the loop: learning, going on, the folder for transformers."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch

from barrow.checkpoint import Checkpoints
from barrow.models.convert import convert
from barrow.models.roberta.model import RobertaConfig
from barrow.stream import Mlm, StreamSettings
from barrow.train import EvaluationSettings, Run, fit, for_store
from barrow.train.tasks.masked import MaskedTask
from barrow.train.tasks.task import task_of
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("compiled_once", "one_device")


@pytest.fixture
def masked(run: Run, store: Path, validation: Path) -> Run:
    small = RobertaConfig(
        vocab_size=7, width=16, layers=1, heads=2, hidden=32, positions=18, pad=1, dropout=0.0
    )
    data = StreamSettings(seq_len=16, batch=8, seed=3, mlm=Mlm())
    return for_store(replace(run, model=small, data=data), store, validation=validation)


def test_the_store_decides_vocabulary_and_padding(masked: Run) -> None:
    model = masked.model
    assert isinstance(model, RobertaConfig)
    assert isinstance(masked.data, StreamSettings)
    assert (model.vocab_size, model.pad, masked.data.pad) == (259, 257, 257)
    assert (model.context, model.positions) == (16, 16 + 258)
    assert isinstance(task_of(masked), MaskedTask)


def test_it_learns_goes_on_and_transformers_opens_it(masked: Run, tmp_path: Path) -> None:
    """ROBERTA-4, BEYOND-9: what was trained is what transformers computes."""
    run = replace(masked, steps=40, evaluation=EvaluationSettings(20, 2), log_every=10)
    state = fit(run, tmp_path / "run")
    lines = read_log(tmp_path / "run" / "log.jsonl")
    assert lines[-1]["validation_loss"] < lines[2]["validation_loss"] < lines[0]["loss"]
    assert 8 < lines[-1]["tokens"] < 40  # of 128, those that were hidden
    assert 16 < lines[-1]["validation_tokens"] < 80  # of 256
    Checkpoints(tmp_path / "run" / "checkpoints").discard_after(39)
    again = fit(run, tmp_path / "run")
    table = [np.asarray(s.params["embed"]["table"]) for s in (state, again)]
    np.testing.assert_array_equal(*table)

    convert(tmp_path / "run", tmp_path / "hf", to="hf")
    from transformers import RobertaForMaskedLM

    theirs = RobertaForMaskedLM.from_pretrained(tmp_path / "hf").eval()
    data = task_of(run).data()
    batch: Any = data.stream.batch(0, rows=slice(0, 2))
    with torch.no_grad():
        wanted = theirs(torch.tensor(batch.tokens).long()).logits.numpy()
    model = task_of(run).model
    every = np.broadcast_to(np.arange(16), (2, 16))
    logits = jax.jit(functools.partial(model.apply, method=model.masked_logits))
    ours = logits(state.params, batch.tokens, every)
    np.testing.assert_allclose(ours, wanted, atol=1e-4)


def test_work_counts_the_head_where_tokens_are_hidden(masked: Run) -> None:
    """6N + 12·L·d·T of the layers, and 15 % of the head's 6·d·(vocabulary + d)."""
    run = replace(masked, model=RobertaConfig(layers=6))
    batch = {"tokens": np.zeros((8, 16))}
    work = task_of(run).work(batch, 82_170_201)
    head = 768 * (50265 + 768)
    layers = 82_170_201 - head - 768 * 515
    wanted = 6 * layers + 12 * 6 * 768 * 16 + 0.15 * 6 * head
    assert (work.size, work.flops / 128) == (128, pytest.approx(wanted))
    assert layers == pytest.approx(6 * 12 * 768**2, rel=0.02)


def test_ids_over_the_vocabulary(masked: Run, tmp_path: Path) -> None:
    model = masked.model
    assert isinstance(model, RobertaConfig)
    with pytest.raises(ValueError, match=r"has id 258, .* vocabulary has 258 ids"):
        fit(replace(masked, model=replace(model, vocab_size=258)), tmp_path)
