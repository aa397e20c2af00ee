"""CLIP-9: pixels to a model's numbers."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow.images import MEAN, STD, normalise

PIXELS = np.random.default_rng(0).integers(0, 256, (2, 5, 5, 3), np.uint8)


@golden("torch")
def by_torch(pixels: np.ndarray) -> np.ndarray:
    import torch

    floats = torch.from_numpy(pixels.copy()).to(torch.float32).div(255)
    return floats.sub(torch.tensor(MEAN)).div(torch.tensor(STD))


def test_as_the_recipe_does_it_in_pytorch() -> None:
    ours = normalise(PIXELS)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, by_torch(PIXELS), rtol=0, atol=1e-6)


def test_black_and_white() -> None:
    black, white = normalise(np.array([[0, 0, 0], [255, 255, 255]], np.uint8))
    np.testing.assert_allclose(black, [-1.792263, -1.752097, -1.480217], atol=1e-5)
    np.testing.assert_allclose(white, [1.930336, 2.074884, 2.145897], atol=1e-5)


def test_on_a_device() -> None:
    ours = normalise(jnp.asarray(PIXELS))
    assert isinstance(ours, jnp.ndarray)
    np.testing.assert_allclose(np.asarray(ours), normalise(PIXELS), atol=1e-6)


def test_what_are_no_pixels() -> None:
    with pytest.raises(ValueError, match=r"expected uint8 pixels .* got float32 \(2, 3\)"):
        normalise(np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match="3 channels last"):
        normalise(np.zeros((3, 8, 8), np.uint8))
