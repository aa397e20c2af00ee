from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from barrow.errors import WeightsError
from barrow.models.clip.names import openai_entries
from barrow.models.clip.open_clip import config_of_open_clip, config_of_shapes, open_clip_of_config
from barrow.models.clip.variants import VARIANTS

HERE = Path("here")


def shapes(name: str) -> dict[str, tuple[int, ...]]:
    entries = openai_entries(VARIANTS[name])
    return {key: entry.line.shape for entry in entries for key in entry.names()}


@pytest.mark.parametrize("name", VARIANTS)
def test_shapes_tell_the_architecture(name: str) -> None:
    """CLIP-6: a state dict says which of the nine it is."""
    assert config_of_shapes(shapes(name), HERE) == VARIANTS[name]


@pytest.mark.parametrize("name", ["RN50x4", "ViT-B/16"])
def test_configurations_go_there_and_back(name: str) -> None:
    config = VARIANTS[name]
    for given in (config, replace(config, activation="gelu")):
        said = open_clip_of_config(given, (0.0,) * 3, (1.0,) * 3)
        assert config_of_open_clip(said, shapes(name), HERE) == given


def test_other_towers() -> None:
    for said, words in (
        ({"vision_cfg": {"timm_model_name": "convnext"}}, "convnext is of another library"),
        ({"text_cfg": {"hf_model_name": "roberta"}}, "roberta is of another library"),
    ):
        with pytest.raises(WeightsError, match=words):
            config_of_open_clip({"model_cfg": said}, shapes("RN50"), HERE)


def test_no_clip_at_all() -> None:
    with pytest.raises(
        WeightsError, match="expected the tensors of a CLIP model under OpenAI's names"
    ):
        config_of_shapes({"wte.weight": (3, 4)}, HERE)
    only_text = {k: v for k, v in shapes("RN50").items() if not k.startswith("visual")}
    with pytest.raises(WeightsError, match="one tower only"):
        config_of_shapes(only_text, HERE)
