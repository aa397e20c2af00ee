from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.models.clip_peers import begins, random_params

from barrow import nn
from barrow.models.clip.config import VisionConfig
from barrow.models.clip.load import load
from barrow.models.clip.tower import Running
from barrow.models.clip.vision import VisionTransformer

SMALL = VisionConfig(16, 8, 16, 2, 2)


def test_features_are_those_of_transformers(hf_clip: tuple[Path, Any]) -> None:
    """CLIP-4, CLIP-8: ≤ 1e-4 in float32 on the same random weights."""
    folder, features = hf_clip
    model, _ = load(weights=folder)
    images = np.random.default_rng(0).normal(size=(4, 32, 32, 3)).astype(np.float32)
    expected = features("get_image_features", images.transpose(0, 3, 1, 2))
    np.testing.assert_allclose(model.encode_image(images), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (jnp.zeros((2, 3, 16, 16)), r"channels come last: images.transpose\(0, 2, 3, 1\)"),
        (jnp.zeros((16, 16, 3)), r"one image is images\[None\]"),
        (jnp.zeros((2, 16, 16, 3), jnp.uint8), "normalise the pixels first"),
        (jnp.zeros((2, 8, 8, 3)), r"\[batch, 16, 16, 3\], got float32\[2, 8, 8, 3\]"),
    ],
)
def test_other_images(images: jax.Array, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nn.describe(VisionTransformer(SMALL, 8), images)


def test_what_it_begins_with() -> None:
    tower = VisionTransformer(VisionConfig(64, 8, 64, 1, 1), 64)
    shape = jax.ShapeDtypeStruct((1, 64, 64, 3), jnp.float32)
    for path in ("positions/table", "projection/kernel", "token"):
        assert begins(tower, path, shape) == nn.normal(64**-0.5)


def test_bfloat16_is_near() -> None:
    tower = VisionTransformer(SMALL, 8)
    images = jax.random.normal(jax.random.key(1), (2, 16, 16, 3))
    params = random_params(tower, images)
    low = VisionTransformer(SMALL, 8, running=Running(dtype="bfloat16"))
    found = jax.jit(low.apply)(params, images)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, jax.jit(tower.apply)(params, images), atol=0.1)
