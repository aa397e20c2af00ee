from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.models.clip_peers import begins, random_params
from tests.models.clip_reference import inputs

from barrow import nn
from barrow.models.clip.config import TextConfig
from barrow.models.clip.load import load
from barrow.models.clip.text import TextTransformer

SMALL = TextConfig(40, 10, 16, 2, 2)


def test_features_are_those_of_transformers(hf_clip: tuple[Path, Any]) -> None:
    """CLIP-5: ≤ 1e-4 in float32 on the same random weights; rows filled with zeros or with ends."""
    folder, features = hf_clip
    model, _ = load(weights=folder)
    _, ids = inputs(32, 12, 60, num=5)
    ends = np.where(np.cumsum(ids == 59, axis=1) > 0, 59, ids)
    for given in (ids, ends):
        expected = features("get_text_features", given)
        np.testing.assert_allclose(model.encode_text(given), expected, atol=1e-4)


def test_what_comes_behind_the_end_does_not_matter() -> None:
    tower = TextTransformer(SMALL, 8)
    ids = jnp.array([[38, 5, 6, 39, 0, 0, 0], [38, 5, 6, 39, 39, 7, 1]])
    params = random_params(tower, ids)
    apply = jax.jit(tower.apply)
    found = apply(params, ids)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    np.testing.assert_allclose(apply(params, ids[:1, :4])[0], found[0], atol=1e-6)


def test_ids_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"expected ids \[batch, up to 10\], got \[2, 11\]"):
        nn.describe(TextTransformer(SMALL, 8), jnp.zeros((2, 11), jnp.int32))
    with pytest.raises(ValueError, match=r"got \[4\]"):
        nn.describe(TextTransformer(SMALL, 8), jnp.zeros((4,), jnp.int32))


def test_what_it_begins_with() -> None:
    tower = TextTransformer(TextConfig(400, 77, 64, 1, 1), 64)
    for path, std in {
        "embed/table": 0.02,
        "positions/table": 0.01,
        "projection/kernel": 64**-0.5,
    }.items():
        assert begins(tower, path, jnp.zeros((1, 4), jnp.int32)) == nn.normal(std)
