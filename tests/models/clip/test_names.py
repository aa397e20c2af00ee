from __future__ import annotations

import re

import pytest

from barrow import nn
from barrow.models.clip.model import CLIP
from barrow.models.clip.names import (
    HF_BUFFERS,
    OPENAI_BUFFERS,
    STATISTICS,
    hf_entries,
    openai_entries,
)
from barrow.models.clip.variants import VARIANTS


@pytest.mark.parametrize("name", ["RN50", "ViT-B/32", "ViT-L/14@336px"])
def test_every_parameter_has_a_tensor(name: str) -> None:
    config = VARIANTS[name]
    model = CLIP(config)
    specs = {p: spec.shape for p, spec in nn.describe(model, *model.config.example).items()}
    tables = [openai_entries(config)] + ([hf_entries(config)] if name.startswith("ViT") else [])
    for entries in tables:
        ours = {path: entry.shape() for entry in entries for path in entry.line.paths}
        assert {p: s for p, s in ours.items() if not p.startswith(STATISTICS)} == specs
        keys = [key for entry in entries for key in entry.names()]
        assert len(set(keys)) == len(keys)


def test_running_statistics_have_tensors() -> None:
    ours = {p for entry in openai_entries(VARIANTS["RN50"]) for p in entry.line.paths}
    stats = {p for p in ours if p.startswith(STATISTICS)}
    assert len(stats) == 2 * (3 + 3 * 16 + 4)


def test_a_resnet_has_no_hugging_face_names() -> None:
    with pytest.raises(ValueError, match="no CLIP with a ResNet: save it in open_clip's layout"):
        hf_entries(VARIANTS["RN50"])


def test_buffers() -> None:
    for name in ("visual.layer1.0.bn1.num_batches_tracked", "input_resolution", "attn_mask"):
        assert re.fullmatch(OPENAI_BUFFERS, name)
    assert not re.fullmatch(OPENAI_BUFFERS, "visual.proj")
    assert re.fullmatch(HF_BUFFERS, "text_model.embeddings.position_ids")
    assert not re.fullmatch(HF_BUFFERS, "logit_scale")
