from __future__ import annotations

from typing import Any

import pytest

from barrow import config
from barrow.models.labelled_rows import Limit
from barrow.stream.labelled import TAG_KEYS, Keys
from barrow.train.finetune_run import FinetuneRun
from barrow.train.precision import Precision
from barrow.train.step import StepSettings


def test_settings_are_json_and_back() -> None:
    run = FinetuneRun("d", "tag", "m", 0.2, Keys("a", "b"), Limit(9, True), ("layers:1",))
    assert config.from_json(FinetuneRun, config.to_json(run)) == run
    assert FinetuneRun("d", "tag", "m").read_keys == TAG_KEYS
    assert run.read_keys == Keys("a", "b")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "rank"}, "the task is classify, tag, regress, not 'rank'"),
        ({"epochs": 0}, "epochs is at least 1, not 0"),
        ({"patience": 0}, "patience is at least 1, not 0"),
        ({"validation": 1.0}, "a share between 0 and 1, not 1.0"),
        ({"metric": "pearson"}, "classify is measured by accuracy, .*, not 'pearson'"),
        ({"step": StepSettings(Precision("fp16"))}, "fp32 or bf16, not fp16"),
    ],
)
def test_bad_settings(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        FinetuneRun(**{"data": "d", "task": "classify", "model": "m", **changes})
