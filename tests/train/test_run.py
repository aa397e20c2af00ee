from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barrow import config
from barrow.errors import ConfigError
from barrow.models import DecoderConfig
from barrow.nn.attention.rotary import Rotary
from barrow.stream import Mixture, Mlm, Phase, Schedule, StreamSettings
from barrow.train import CheckpointSettings, EvaluationSettings, MeshSettings, Run
from barrow.train.precision import Precision
from barrow.train.run import all_settings, differences
from barrow.train.step import StepSettings

RUN = Run(DecoderConfig(context=64), StreamSettings(seq_len=64, batch=8), 10)


def test_settings_are_json_and_back() -> None:
    run = replace(
        RUN,
        model=DecoderConfig(rotary=Rotary(dim=8), kv_heads=4),
        step=StepSettings(Precision("fp16"), accumulate=2, ema=0.99),
        mesh=MeshSettings(2, 4, 3),
        evaluation=EvaluationSettings(5, 7),
        checkpoint=CheckpointSettings(5, 2, 10),
        remat="attention",
        validation="there",
    )
    assert config.from_json(Run, config.to_json(run)) == run


def test_all_settings_but_places() -> None:
    """What may change when a run goes on must still be the same in its processes."""
    moved = replace(RUN, store="x", validation="y", pairs="z", tokenizer="t")
    assert all_settings(moved) == all_settings(RUN)
    for changed in (replace(RUN, log_every=3), replace(RUN, mesh=MeshSettings(zero=3))):
        assert len(all_settings(changed).items() - all_settings(RUN).items()) == 1


def test_settings_by_key() -> None:
    run = config.override(
        RUN, ["steps=200", "optimizer.schedule.peak=1e-3", "step.precision.name=bf16", "store=x"]
    )
    assert (run.steps, run.optimizer.schedule.peak, run.store) == (200, 1e-3, "x")
    assert run.step.precision == Precision("bf16")
    with pytest.raises(ConfigError, match="did you mean 'schedule'"):
        config.override(RUN, ["optimizer.shedule.peak=1"])


def test_rows_of_a_schedule() -> None:
    mixture = Mixture(weights={"A": 1.0})
    schedule = Schedule((Phase(0, 16, 32, mixture), Phase(5, 64, 8, mixture)), 64)
    run = replace(RUN, data=StreamSettings(schedule=schedule))
    assert (run.seq_len, run.batches) == (64, (32, 8))
    assert (RUN.seq_len, RUN.batches) == (64, (8,))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: replace(RUN, steps=0), "steps must be ≥ 1, got 0"),
        (lambda: replace(RUN, log_every=0), "log_every must be ≥ 1"),
        (lambda: EvaluationSettings(every=0), "evaluation: every must be ≥ 1"),
        (lambda: EvaluationSettings(batches=-1), "evaluation: batches"),
        (lambda: CheckpointSettings(keep_last=0), "checkpoint: keep_last"),
        (lambda: MeshSettings(zero=4), "0, 1, 2 or 3, got 4"),
        (lambda: replace(RUN, diverged=1.0), "a factor > 1"),
        (lambda: replace(RUN, seed=-1), "seed must be from 0 to 4294967295, got -1"),
        (lambda: replace(RUN, seed=1 << 32), "seed must be from 0 to 4294967295, got 4294967296"),
        (lambda: replace(RUN, diverged=float("nan")), "a factor > 1"),
        (
            lambda: replace(RUN, data=StreamSettings(seq_len=65, batch=8)),
            "65 tokens.* 64 positions",
        ),
        (lambda: replace(RUN, data=StreamSettings(batch=8)), "pass seq_len and batch"),
        (lambda: replace(RUN, data=replace(RUN.data, mlm=Mlm())), "leave out data.mlm"),
    ],
)
def test_bad_settings(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        change()


def test_differences_are_listed_unless_they_change_no_number() -> None:
    assert differences(RUN, RUN) == []
    free = replace(
        RUN,
        store="elsewhere",
        validation="some",
        mesh=MeshSettings(1, 8, 3),
        evaluation=EvaluationSettings(3),
        checkpoint=CheckpointSettings(3),
        log_every=1,
        diverged=None,
        steps=11,
    )
    assert differences(RUN, free) == []
    other = replace(RUN, model=replace(RUN.model, rotary=Rotary()), unroll=True, remat="all")
    assert differences(RUN, other) == [
        "unroll: False → True",
        "remat: 'none' → 'all'",
        "model.rotary.base: None → 10000.0",
    ]
