"""DEEPSPEED-5 and ACCELERATE-13: devices of unequal memory, and the host's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from tests.plan.small_run import SHAPE

from barrow.errors import ConfigError
from barrow.models.decoder.model import Decoder
from barrow.plan.layers import place_layers

MODEL = Decoder(replace(SHAPE, layers=8, vocab_size=64))
TOKENS = np.arange(32, dtype=np.int32).reshape(2, 16)


@pytest.fixture(scope="module")
def params() -> Any:
    return jax.jit(MODEL.init)(jax.random.key(1), *MODEL.config.example)


@pytest.fixture(scope="module")
def expected(params: Any) -> Any:
    return np.asarray(MODEL.apply(params, TOKENS)[0])


def bytes_on(device: Any, tree: Any) -> int:
    leaves = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    return sum(leaf.nbytes for leaf in leaves if leaf.devices() == {device})


def size_of(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


def test_two_devices_one_to_three(params: Any, expected: Any) -> None:
    small, large = jax.devices()[2], jax.devices()[5]
    layers, ends = size_of(params["layers"]), size_of(params) - size_of(params["layers"])
    quarter = layers // 4 + ends // 3 + 1
    limits = {small: quarter, large: 3 * quarter}
    placed = place_layers(MODEL, params, limits)
    assert [(g.device, g.first, g.last, g.is_on_host) for g in placed.groups] == [
        (small, 0, 2, False),
        (large, 2, 8, False),
    ]
    for device, limit in limits.items():
        held = bytes_on(device, [placed.params, [group.params for group in placed.groups]])
        assert limit * 0.7 < held <= limit
    logits, _ = placed.apply(TOKENS)
    np.testing.assert_allclose(logits, expected, atol=1e-6)
    assert logits.devices() == {large}
    # A second call compiles nothing.
    (run,) = placed._compiled.values()
    programs = run._cache_size()
    again, _ = placed.apply(TOKENS)
    assert run._cache_size() == programs == 2
    np.testing.assert_array_equal(again, logits)


def test_the_host_keeps_what_fits_nowhere(params: Any, expected: Any) -> None:
    small, large = jax.devices()[:2]
    of_layer = size_of(params["layers"]) // 8
    ends = size_of(params) - 8 * of_layer
    placed = place_layers(MODEL, params, {small: of_layer, large: ends + 3 * of_layer})
    assert [(g.device, g.first, g.last, g.is_on_host) for g in placed.groups] == [
        (small, 0, 1, False),
        (large, 1, 3, False),
        (large, 3, 8, True),
    ]
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(placed.groups[2].params))
    logits, _ = placed.apply(TOKENS)
    np.testing.assert_allclose(logits, expected, atol=1e-6)


def test_a_model_that_fits_nowhere(params: Any) -> None:
    with pytest.raises(ConfigError, match="but the largest limit is 1,000: use a device with more"):
        place_layers(MODEL, params, {jax.devices()[0]: 1000})
    with pytest.raises(ConfigError, match="no layers of this model are stacked"):
        place_layers(MODEL, {"head": params["embed"]}, {jax.devices()[0]: 1 << 30})
