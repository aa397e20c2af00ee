from __future__ import annotations

from typing import Any

import pytest

from barrow import config
from barrow.models.roberta.heads import (
    ClassificationHead,
    LabelledConfig,
    RegressionHead,
    TokenHead,
)
from barrow.models.roberta.labelled_rows import Limit
from barrow.models.roberta.model import RobertaConfig
from barrow.stream.labelled.examples import TAG_KEYS, Keys
from barrow.train import Run, StepSettings
from barrow.train.finetune.settings import LabelledRows, Labels
from barrow.train.precision import Precision

BODY = RobertaConfig(330, 32, 2, 4, 48, 66, dropout=0.25, init_std=0.1)
MODEL = LabelledConfig(BODY, "classify", ("a", "b"))
ROWS = LabelledRows("d", "classify")


def test_a_run_is_json_and_back() -> None:
    rows = LabelledRows("d", "tag", 0.2, Keys("a", "b"), Limit(9, True))
    run = Run(MODEL, rows, 3, objective=Labels(("layers:1",), 0.5))
    assert config.from_json(Run, config.to_json(run)) == run
    assert LabelledRows("d", "tag").read_keys == TAG_KEYS
    assert rows.read_keys == Keys("a", "b")


def test_heads() -> None:
    assert MODEL.head == ClassificationHead(2, 0.25, 0.1)
    assert LabelledConfig(BODY, "tag", ("a", "b", "c")).head == TokenHead(3, 0.25, 0.1)
    assert LabelledConfig(BODY, "regress").head == RegressionHead(1, 0.25, 0.1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LabelledRows("d", "rank"), "kind must be classify, tag, regress, got 'rank'"),
        (lambda: LabelledRows("d", "tag", epochs=0), "epochs must be ≥ 1, got 0"),
        (lambda: LabelledRows("d", "tag", 1.0), "a share between 0 and 1, got 1.0"),
        (lambda: Labels(patience=0), "patience must be ≥ 1, got 0"),
        (lambda: Run(MODEL, ROWS, 3), "needs labelled rows"),
        (
            lambda: Run(MODEL, ROWS, 3, objective=Labels(metric="pearson")),
            "the metric of classify must be one of accuracy, .*, got 'pearson'",
        ),
        (
            lambda: Run(MODEL, ROWS, 3, objective=Labels(("layers:7",))),
            "layers:7 is not within the model's layers 0 to 1",
        ),
        (
            lambda: Run(MODEL, ROWS, 3, objective=Labels(), step=StepSettings(Precision("fp16"))),
            "fp32 or bf16, got fp16",
        ),
    ],
)
def test_bad_settings(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
