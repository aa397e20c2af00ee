from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.models.clip_peers import begins, random_params

from barrow import nn
from barrow.models.clip.tower import OnePlace, Running, Tower

KEY = jax.random.key(0)
X = jax.random.normal(jax.random.key(1), (3, 10, 16))
AT = jnp.array([0, 9, 4])


def whole(tower: Tower, params: nn.Tree, x: jax.Array, at: jax.Array) -> jax.Array:
    """All places of all layers, of which one is taken: what the tower stands for."""
    block = tower._block(x.shape[-1])
    at = jnp.asarray(at)
    for number in range(tower.layers - 1):
        layer = jax.tree.map(lambda leaf, n=number: leaf[n], params["layers"])
        x, _ = block.apply(layer, x)
    x, _ = block.apply(params["last"], x)
    return x[jnp.arange(len(x)), at]


@pytest.mark.parametrize("causal", [False, True])
def test_one_place_is_what_the_whole_has_there(causal: bool) -> None:
    tower = Tower(2, 4, causal=causal)
    params = random_params(tower, X, AT)
    expected = jax.jit(lambda p: whole(tower, p, X, AT))(params)
    np.testing.assert_allclose(jax.jit(tower.apply)(params, X, AT), expected, atol=2e-6)


def test_unrolled_and_scanned_agree_and_share_parameters() -> None:
    tower = Tower(2, 4, causal=True)
    apart = Tower(2, 4, causal=True, running=Running(unroll=True))
    params = random_params(tower, X, AT)
    shapes = jax.eval_shape(lambda key: apart.init(key, X, AT), KEY)
    assert jax.tree.structure(shapes) == jax.tree.structure(params)
    found, expected = (jax.jit(t.apply)(params, X, AT) for t in (apart, tower))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_single_layer_is_the_last() -> None:
    tower = Tower(1, 4, causal=False)
    assert {path.split("/")[0] for path in nn.describe(tower, X, AT)} == {"last"}


def test_the_last_layer_has_the_names_and_axes_of_a_block() -> None:
    block = Tower(2, 4, causal=False)._block(16)
    ours = nn.describe(OnePlace(block), X, AT, None)
    theirs = nn.describe(block, X)
    assert {path: spec.shape for path, spec in ours.items()} == {
        path: spec.shape for path, spec in theirs.items()
    }
    assert {p: s.axes for p, s in ours.items()} == {p: s.axes for p, s in theirs.items()}


def test_weights_begin_as_in_clip() -> None:
    """Attention width^-½, what is added to the residual smaller by √(2·layers), fc (2·width)^-½."""
    tower = Tower(8, 4, causal=False)
    shape = jax.ShapeDtypeStruct((1, 2, 64), jnp.float32)
    for path, expected in {
        "attention/q/kernel": 64**-0.5,
        "attention/v/kernel": 64**-0.5,
        "attention/out/kernel": 64**-0.5 * 16**-0.5,
        "mlp/down/kernel": 64**-0.5 * 16**-0.5,
        "mlp/up/kernel": 128**-0.5,
    }.items():
        for folder in ("layers", "last"):
            assert begins(tower, f"{folder}/{path}", shape, 0) == nn.normal(expected)
