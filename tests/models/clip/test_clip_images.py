"""CLIP-9: preprocessing at most 1/255 from Pillow and NumPy."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from barrow.errors import BadImage
from barrow.models.clip.load import preprocess

MEAN = np.array([0.48145466, 0.4578275, 0.40821073])
STD = np.array([0.26862954, 0.26130258, 0.27577711])


@pytest.mark.parametrize("size", [(320, 240), (240, 411), (100, 100), (224, 300)])
def test_the_whole_recipe(size: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(size))
    coarse = Image.fromarray(rng.integers(0, 256, (12, 12, 3), np.uint8))
    file = io.BytesIO()
    coarse.resize(size).save(file, "JPEG", quality=95)
    image = Image.open(io.BytesIO(file.getvalue()))
    scale = 224 / min(size)
    image = image.resize((int(size[0] * scale), int(size[1] * scale)), Image.Resampling.BICUBIC)
    left, top = round((image.width - 224) / 2), round((image.height - 224) / 2)
    pixels = np.asarray(image.crop((left, top, left + 224, top + 224)).convert("RGB")) / 255
    ours = preprocess([file.getvalue()], resolution=224)
    assert ours.shape == (1, 224, 224, 3)
    assert ours.dtype == np.float32
    assert np.abs(ours[0] * STD + MEAN - pixels).max() <= 1 / 255 + 1e-6


def test_options_are_passed_on() -> None:
    clear = Image.new("RGBA", (6, 6), (0, 0, 0, 0))
    white = preprocess([clear], resolution=3, background=(255, 255, 255), threads=1)
    np.testing.assert_allclose(white * STD + MEAN, np.ones((1, 3, 3, 3)), atol=1e-6)
    with pytest.raises(BadImage, match="image 0"):
        preprocess([b"x"], resolution=3)
