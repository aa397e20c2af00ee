from __future__ import annotations

from typing import Any

import pytest

from barrow import config
from barrow.models.clip.config import ClipConfig, ResNetConfig
from barrow.models.decoder.model import DecoderConfig
from barrow.models.roberta.model import RobertaConfig
from barrow.stream import Mlm, StreamSettings
from barrow.stream.pairs import PairSettings
from barrow.train import Run

TOKENS = StreamSettings(seq_len=64, batch=8)
MASKED = StreamSettings(seq_len=64, batch=8, mlm=Mlm())


@pytest.mark.parametrize(
    "run",
    [
        Run(DecoderConfig(), TOKENS, 10),
        Run(RobertaConfig(layers=2), MASKED, 10),
        Run(ClipConfig(), PairSettings(batch=8), 10),
        Run(ClipConfig(image=ResNetConfig()), PairSettings(batch=8, epochs={"a": 1.0}), 10),
    ],
)
def test_kinds_are_told_apart_in_json(run: Run) -> None:
    assert config.from_json(Run, config.to_json(run)) == run


def test_the_model_is_saved_by_its_public_name() -> None:
    told = config.to_dict(Run(DecoderConfig(layers=3), TOKENS, 10))
    assert told["model"]["object"] == "barrow.models:DecoderConfig"


@pytest.mark.parametrize(
    ("model", "data", "words"),
    [
        (DecoderConfig(), MASKED, "leave out data.mlm"),
        (DecoderConfig(), PairSettings(batch=8), "needs a token store"),
        (RobertaConfig(), TOKENS, "data.mlm={}"),
        (RobertaConfig(mlm_head=False), MASKED, "model.mlm_head=true"),
        (
            RobertaConfig(positions=60),
            MASKED,
            "64 tokens, but the model 58 positions: set data.seq_len=58, or model.positions=66",
        ),
        (ClipConfig(), TOKENS, "image–text pairs"),
        (ClipConfig(), PairSettings(), "pass batch"),
    ],
)
def test_what_does_not_go_together(model: Any, data: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Run(model, data, 10)


def test_settings_inside_are_reached_by_key() -> None:
    run = config.override(
        Run(ClipConfig(), PairSettings(batch=8), 10), ["model.image.patch=16", "data.batch=32"]
    )
    assert isinstance(run.model, ClipConfig)
    assert run.batches == (32,)
