from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.models.clip_peers import arrays, begins, random_params

from barrow import nn
from barrow.models.clip.config import ResNetConfig
from barrow.models.clip.load import load
from barrow.models.clip.resnet import Bottleneck, ModifiedResNet

SMALL = ResNetConfig(32, 8, (1, 1, 1, 1), 4)


def test_features_are_those_of_open_clip(open_clip_files: Path) -> None:
    """CLIP-4, CLIP-8: ≤ 1e-4 in float32 on the same random weights and running statistics."""
    expected = arrays(open_clip_files / "rn.npz")
    model, _ = load(weights=open_clip_files / "rn.pt")
    assert isinstance(model.module.config.image, ResNetConfig)
    np.testing.assert_allclose(model.encode_image(expected["images"]), expected["image"], atol=1e-4)


def test_training_moves_the_statistics() -> None:
    tower = ModifiedResNet(SMALL, 8)
    images = 3 + jax.random.normal(jax.random.key(1), (4, 32, 32, 3))
    params = random_params(tower, images)
    first = nn.init_collections(tower, images)
    found, after = jax.jit(
        lambda p, c: tower.apply_and_collect(p, images, mutable=("batch_stats",), collections=c)
    )(params, first)
    assert found.shape == (4, 8)
    moved = nn.paths(after["batch_stats"])
    assert moved.keys() == nn.paths(first["batch_stats"]).keys()
    assert not np.allclose(moved["stem/norm1/mean"], 0)


def test_blocks_begin_as_nothing() -> None:
    """The last batch norm of each block begins with zero, so a block passes on what it gets."""
    block = Bottleneck(4)
    x = jax.random.normal(jax.random.key(1), (2, 4, 4, 16))
    specs = nn.describe(block, x)
    assert specs["norm3/scale"].init is nn.zeros
    assert specs["norm1/scale"].init is nn.ones
    params = random_params(block, x)
    norm = {"scale": np.zeros(16, np.float32), "bias": np.zeros(16, np.float32)}
    params = params | {"norm3": norm}
    stats = nn.init_collections(block, x)
    found = jax.jit(lambda p, s: block.apply(p, x, collections=s))(params, stats)
    np.testing.assert_array_equal(found, jnp.maximum(x, 0))


def test_the_pool_begins_small() -> None:
    tower = ModifiedResNet(SMALL, 8)
    shape = jax.ShapeDtypeStruct((1, 32, 32, 3), jnp.float32)
    for name in "qkv":
        assert begins(tower, f"pool/{name}/kernel", shape) == nn.normal(256**-0.5)


def test_statistics_are_missed() -> None:
    tower = ModifiedResNet(SMALL, 8)
    images = jnp.zeros((2, 32, 32, 3))
    params = jax.eval_shape(tower.init, jax.random.key(0), images)
    with pytest.raises(ValueError, match="no running statistics"):
        jax.eval_shape(tower.apply, params, images)
