from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.models.clip_peers import random_params

from barrow import nn
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip.model import CLIP, normalised

TINY = ClipConfig(8, VisionConfig(16, 8, 16, 2, 2), TextConfig(40, 10, 16, 2, 2))


def test_both_towers_and_the_scale() -> None:
    model = CLIP(TINY)
    images, ids = jnp.ones((3, 16, 16, 3)), jnp.full((3, 10), 39)
    params = random_params(model, *model.config.example)
    params = params | {"logit_scale": np.float32(math.log(1 / 0.07))}
    held = nn.describe(model, *model.config.example)["logit_scale"]
    assert held.init == nn.constant(-math.log(0.07))
    assert set(params) == {"image", "text", "logit_scale"}
    image, text, scale = jax.jit(model.apply)(params, images, ids)
    assert image.shape == text.shape == (3, 8)
    assert float(scale) == pytest.approx(1 / 0.07)
    alone = jax.jit(lambda p, x: model.apply(p, x, method=model.text))
    np.testing.assert_allclose(alone(params, ids), text, atol=1e-5)


def test_the_scale_is_at_most_a_hundred() -> None:
    model = CLIP(TINY)
    for held, expected in ((math.log(50), 50), (math.log(200), 100)):
        scale = model.apply({"logit_scale": jnp.float32(held)}, method=model.scale)
        assert float(scale) == pytest.approx(expected, rel=1e-5)


def test_parameters_name_their_axes() -> None:
    model = CLIP(TINY)
    axes = nn.paths(nn.axes(model, *model.config.example))
    assert axes["image/projection/kernel"] == ("embed", "joint")
    assert axes["text/embed/table"] == ("vocab", "embed")
    assert axes["logit_scale"] == ()


def test_normalised() -> None:
    x = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(normalised(x), [[0.6, 0.8], [0, 0]], atol=1e-7)
    assert np.isfinite(jax.grad(lambda v: normalised(v).sum())(x)).all()
