from __future__ import annotations

from typing import Any

import pytest

from barrow.config import from_json, to_json
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.clip.variants import VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
def test_settings_read_back_equal(name: str) -> None:
    assert from_json(ClipConfig, to_json(VARIANTS[name])) == VARIANTS[name]


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (VisionConfig, {"patch": 33}, "patches of 33 pixels do not fill"),
        (VisionConfig, {"heads": 7}, "7 heads do not divide a width of 768"),
        (VisionConfig, {"layers": 0}, "layers must be ≥ 1"),
        (ResNetConfig, {"resolution": 225}, "multiple of 32, got 225"),
        (ResNetConfig, {"width": 7}, "must be even"),
        (ResNetConfig, {"layers": (3, 4, 6)}, "four numbers"),
        (ResNetConfig, {"heads": 3}, "3 heads do not divide a width of 2048"),
        (TextConfig, {"vocab_size": 0}, "vocab_size must be ≥ 1"),
        (ClipConfig, {"embed": 0}, "embed must be ≥ 1"),
        (ClipConfig, {"activation": "relu"}, "quick_gelu or gelu, got 'relu'"),
    ],
)
def test_bad_numbers(kind: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kind(**given)
