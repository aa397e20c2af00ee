from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from barrow.models.clip.config import ClipConfig
from barrow.models.decoder.model import DecoderConfig
from barrow.models.roberta.model import RobertaConfig
from barrow.stream import Mlm, StreamSettings
from barrow.stream.pairs import PairSettings
from barrow.train import Run
from barrow.train.tasks.task import task_of

KINDS = [
    (DecoderConfig(), StreamSettings(seq_len=8, batch=2), "CausalTask", "token", "nats per token"),
    (
        *(RobertaConfig(), StreamSettings(seq_len=8, batch=2, mlm=Mlm())),
        *("MaskedTask", "token", "nats per masked token"),
    ),
    (ClipConfig(), PairSettings(batch=2), "ContrastiveTask", "pair", "nats per pair"),
]


@pytest.mark.parametrize(("model", "data", "name", "unit", "measure"), KINDS)
def test_the_model_decides_the_kind(
    model: object, data: object, name: str, unit: str, measure: str
) -> None:
    run = Run(model=model, data=data, steps=1)  # type: ignore[arg-type]
    task = task_of(run)
    assert (type(task).__name__, task.unit, task.measure) == (name, unit, measure)
    assert task.model.config is model  # type: ignore[attr-defined]


def test_how_it_is_run_is_the_runs(run: Run, store: Path) -> None:
    calm = task_of(run).model
    other = task_of(replace(run, unroll=True, remat="all")).model
    assert (calm.unroll, calm.remat) == (False, None)  # type: ignore[attr-defined]
    assert other.unroll  # type: ignore[attr-defined]
    assert other.remat is not None  # type: ignore[attr-defined]
