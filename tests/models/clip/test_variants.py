from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.models.clip_peers import arrays, reference

from barrow import nn
from barrow.models.clip.load import load
from barrow.models.clip.model import CLIP
from barrow.models.clip.variants import VARIANTS, variant

# As OpenAI's models count them.
NUM_PARAMS = {
    "RN50": 102_007_137,
    "RN101": 119_688_033,
    "RN50x4": 178_300_601,
    "RN50x16": 290_979_217,
    "RN50x64": 623_258_305,
    "ViT-B/32": 151_277_313,
    "ViT-B/16": 149_620_737,
    "ViT-L/14": 427_616_513,
    "ViT-L/14@336px": 427_944_193,
}


@pytest.mark.parametrize("name", VARIANTS)
def test_parameters_are_counted_exactly(name: str) -> None:
    """CLIP-6: all nine, allocating nothing."""
    model = CLIP(VARIANTS[name])
    specs = nn.describe(model, *model.config.example)
    assert sum(math.prod(spec.shape) for spec in specs.values()) == NUM_PARAMS[name]


def test_all_nine_are_there() -> None:
    assert list(VARIANTS) == list(NUM_PARAMS)


def test_names_as_files_have_them() -> None:
    assert variant("ViT-B-32") is VARIANTS["ViT-B/32"]
    assert variant("vit-l/14@336PX") is VARIANTS["ViT-L/14@336px"]
    assert variant("ViT-L-14-336px") is VARIANTS["ViT-L/14@336px"]


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match=r"no CLIP model 'ViT-B/33'; did you mean 'ViT-B/32'\?"):
        variant("ViT-B/33")
    with pytest.raises(ValueError, match="no CLIP model 'zebra'; there are RN50, "):
        variant("zebra")


@pytest.mark.soak
@pytest.mark.parametrize("name", VARIANTS)
def test_whole_models_against_open_clip(name: str, tmp_path: Path) -> None:
    """CLIP-4, CLIP-5, CLIP-8: ≤ 1e-4 with random weights in float32."""
    plain = name.replace("/", "-").replace("@336px", "-336")
    reference("large", f"{plain}-quickgelu", tmp_path)
    expected = arrays(tmp_path / "features.npz")
    model, _ = load(name, weights=tmp_path / "model.pt")
    image, text = model.encode_image(expected["images"]), model.encode_text(expected["ids"])
    np.testing.assert_allclose(image, expected["image"], atol=1e-4 * _size(expected["image"]))
    np.testing.assert_allclose(text, expected["text"], atol=1e-4 * _size(expected["text"]))


def _size(x: np.ndarray) -> float:
    return max(1.0, float(np.abs(x).max()))
