"""Dropout, and the keys it takes (FLAX-9, FLAX-10)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn

ONES = jnp.ones((64, 64))


def dropped(model, x=ONES, seed=0):
    return model.apply({}, x, keys={"dropout": jax.random.key(seed)})


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_share_and_scale(rate) -> None:
    x = jnp.ones((400, 500))
    y = dropped(nn.Dropout(rate), x)
    assert float(jnp.mean(y == 0)) == pytest.approx(
        rate, abs=5 * (rate * (1 - rate) / x.size) ** 0.5
    )
    np.testing.assert_allclose(y[y != 0], 1 / (1 - rate), rtol=1e-6)


def test_the_identity_without_a_key_or_a_rate() -> None:
    np.testing.assert_array_equal(nn.Dropout(0.5).apply({}, ONES), ONES)
    other = nn.Dropout(0.5).apply({}, ONES, keys={"noise": jax.random.key(0)})
    np.testing.assert_array_equal(other, ONES)
    np.testing.assert_array_equal(dropped(nn.Dropout(0.0)), ONES)


def test_by_key() -> None:
    model = nn.Dropout(0.5)
    np.testing.assert_array_equal(dropped(model), dropped(model))
    np.testing.assert_array_equal(dropped(model), jax.jit(lambda x: dropped(model, x))(ONES))
    assert jnp.any(dropped(model) != dropped(model, seed=1))


def test_infinities_that_are_dropped_leave_no_nan() -> None:
    y = dropped(nn.Dropout(0.5), jnp.full((100,), jnp.inf))
    assert not jnp.any(jnp.isnan(y))


def test_broadcast_dimensions_share_one_fate() -> None:
    y = dropped(nn.Dropout(0.5, broadcast=(-1,)))
    np.testing.assert_array_equal(y, jnp.broadcast_to(y[:, :1], y.shape))
    assert 0 < float(jnp.mean(y[:, 0] == 0)) < 1


@dataclass(frozen=True)
class Pair(nn.Module):
    second: str = "b"

    def forward(self, scope, x):
        drop = nn.Dropout(0.5)
        return drop(scope / "a", x), drop(scope / self.second, x), drop(scope / "a", x)


def test_different_by_path_and_by_call_and_nothing_else() -> None:
    first, second, again = dropped(Pair())
    assert jnp.any(first != second)
    assert jnp.any(first != again)
    # What stands beside it does not change a module's randomness.
    np.testing.assert_array_equal(first, dropped(Pair("other"))[0])
    assert jnp.any(second != dropped(Pair("other"))[1])


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope, x, each=None):
        y = nn.Dropout(0.5)(scope / "drop", jnp.ones_like(x))
        return x + y, y


@pytest.mark.parametrize("remat", [None, nn.Policy()])
def test_different_by_layer_and_the_same_scanned_or_unrolled(remat) -> None:
    scanned, unrolled = (
        dropped(nn.Repeat(Layer(), 3, unroll=unroll, remat=remat)) for unroll in (False, True)
    )
    for one, other in zip(jax.tree.leaves(scanned), jax.tree.leaves(unrolled), strict=True):
        np.testing.assert_array_equal(one, other)
    masks = scanned[1]
    assert jnp.any(masks[0] != masks[1])
    assert jnp.any(masks[1] != masks[2])


@dataclass(frozen=True)
class Twice(nn.Module):
    remat: bool

    def forward(self, scope, x):
        pair = nn.Remat(Pair()) if self.remat else Pair()
        return pair(scope / "pair", x), pair(scope.again("pair"), x)


def test_remat_changes_no_mask() -> None:
    plain, remat = dropped(Twice(False)), dropped(Twice(True))
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(remat), strict=True):
        np.testing.assert_array_equal(one, other)
    assert jnp.any(plain[0][0] != plain[1][0])


def test_bad_rate() -> None:
    for rate in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"≥ 0 and < 1, got {rate}"):
            nn.Dropout(rate)
