from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.goldens import golden, settings_of

from barrow.errors import WeightsError
from barrow.models.clip.config import ClipConfig
from barrow.models.clip.hf import config_of_hf, hf_of_config, hf_preprocessing
from barrow.models.clip.variants import VARIANTS

HERE = Path("here")


@golden("transformers")
def full_config(settings: dict[str, Any]) -> Any:
    import transformers

    return settings_of(transformers.CLIPConfig(**settings))


@pytest.mark.parametrize("name", ["ViT-B/32", "ViT-L/14@336px"])
def test_configurations_go_there_and_back(name: str) -> None:
    theirs = full_config(hf_of_config(VARIANTS[name]))
    assert config_of_hf(theirs, HERE) == VARIANTS[name]


def test_what_is_left_out_is_that_of_vit_b_32() -> None:
    assert config_of_hf({"model_type": "clip"}, HERE) == ClipConfig()
    older = {"model_type": "clip", "text_config": None, "text_config_dict": {"vocab_size": 99}}
    assert config_of_hf(older, HERE).text.vocab_size == 99


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"model_type": "bert"}, "config.json: expected model_type 'clip', got 'bert'"),
        ({"vision_config": {"hidden_act": "gelu"}}, "activations: expected quick_gelu, got gelu"),
        ({"text_config": {"intermediate_size": 9}}, "text tower's net: expected 2048, got 9"),
        ({"vision_config": {"num_channels": 4}}, "channels of an image: expected 3, got 4"),
        ({"text_config": {"eos_token_id": 7}}, "a text must end with .*, got 7"),
    ],
)
def test_what_would_be_computed_otherwise(data: dict[str, Any], words: str) -> None:
    with pytest.raises(WeightsError, match=words):
        config_of_hf({"model_type": "clip", **data}, HERE)


def test_preprocessing() -> None:
    said = hf_preprocessing(336, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert said["size"] == {"shortest_edge": 336}
    assert said["crop_size"] == {"height": 336, "width": 336}
