"""Conv (FLAX-9)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn


def channels_first(x):
    return np.moveaxis(x, -1, 1)


def channels_last(y):
    return np.moveaxis(y, 1, -1)


NAMES = {
    "kernel": ("weight", lambda w: np.moveaxis(w, (0, 1), (-1, -2))),
    "bias": ("bias", np.asarray),
}


@pytest.mark.parametrize(
    ("space", "window", "strides", "padding", "dilation", "groups"),
    [
        ((9,), (3,), 1, "VALID", 1, 1),
        ((9,), (4,), 2, ((3, 3),), 1, 2),
        ((7, 8), (3, 3), 1, "SAME", 1, 1),
        ((7, 8), (3, 2), (2, 3), ((1, 1), (0, 0)), 1, 1),
        ((9, 9), (3, 3), 1, "VALID", (2, 3), 4),
        ((8, 8), (4, 4), 4, "VALID", 1, 1),
        ((4, 5, 6), (2, 3, 3), (1, 2, 1), ((1, 1), (1, 1), (0, 0)), 1, 2),
    ],
)
def test_as_torch(same_as_torch, normal, space, window, strides, padding, dilation, groups) -> None:
    channels, features = 4, 8
    model = nn.Conv(features, window, strides, padding, dilation, groups)
    options = {
        "stride": strides,
        "padding": padding.lower() if isinstance(padding, str) else tuple(p for p, _ in padding),
        "dilation": dilation,
        "groups": groups,
    }
    theirs = (f"Conv{len(space)}d", (channels, features, window), options)
    x = normal(2, *space, channels)
    same_as_torch(model, theirs, x, NAMES, to=channels_first, back=channels_last)


def test_same_pads_behind_first_and_explicit_pairs_may_differ(normal) -> None:
    x = jnp.asarray(normal(1, 6, 2))
    params = nn.Conv(3, (3,), 2).init(jax.random.key(0), x)
    same = nn.Conv(3, (3,), 2).apply(params, x)
    assert same.shape == (1, 3, 3)
    np.testing.assert_array_equal(same, nn.Conv(3, (3,), 2, ((0, 1),)).apply(params, x))


def test_axes_start_and_type(normal) -> None:
    x = jnp.asarray(normal(1, 9, 9, 8), jnp.bfloat16)
    model = nn.Conv(64, (5, 5), groups=2, bias=False)
    assert nn.axes(model, x)["kernel"] == (None, None, "embed", "mlp")
    params = model.init(jax.random.key(0), x)
    assert params["kernel"].shape == (5, 5, 4, 64)
    assert float(jnp.std(params["kernel"])) == pytest.approx(0.1, rel=0.02)
    assert model.apply(params, x).dtype == jnp.bfloat16
    assert "bias" not in params


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="window must have 1 to 3 dimensions"):
        nn.Conv(4, (3, 3, 3, 3))
    with pytest.raises(
        ValueError, match=r"strides must be a positive number or 2 of them, got \(1,\)"
    ):
        nn.Conv(4, (3, 3), (1,))
    with pytest.raises(ValueError, match="dilation must be a positive number"):
        nn.Conv(4, (3, 3), dilation=0)
    with pytest.raises(ValueError, match="SAME, VALID or pairs of numbers, got 'FULL'"):
        nn.Conv(4, (3, 3), padding="FULL")
    with pytest.raises(ValueError, match="2 pairs of numbers"):
        nn.Conv(4, (3, 3), padding=((1, 1),))
    with pytest.raises(ValueError, match="3 groups do not divide 4 features"):
        nn.Conv(4, (3, 3), groups=3)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"2 spatial dimensions, channels\].*float32\[2, 5, 3\]"):
        nn.Conv(4, (3, 3)).init(jax.random.key(0), jnp.ones((2, 5, 3)))
    with pytest.raises(ValueError, match="got int32"):
        nn.Conv(4, (3,)).init(jax.random.key(0), jnp.ones((2, 5, 3), int))
    with pytest.raises(ValueError, match="2 groups do not divide 3 channels"):
        nn.Conv(4, (3,), groups=2).init(jax.random.key(0), jnp.ones((2, 5, 3)))
