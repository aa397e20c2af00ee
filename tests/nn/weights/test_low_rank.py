"""A low-rank addition stands in for a weight."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from barrow import nn
from barrow.nn.tree import Tree
from barrow.nn.weights.low_rank import LowRank, joined, merged


def leaf(*shape: int, num_in: int = 1, layers: int | None = None) -> LowRank:
    keys = jax.random.split(jax.random.key(0), 3)
    before = () if layers is None else (layers,)
    return LowRank(
        jax.random.normal(keys[0], (*before, *shape)),
        jax.random.normal(keys[1], (*before, *shape[:num_in], 2)),
        jax.random.normal(keys[2], (*before, 2, *shape[num_in:])),
        0.5,
    )


def test_it_is_its_merged_array() -> None:
    for made, num in ((leaf(6, 5), 1), (leaf(6, 2, 3), 1), (leaf(2, 3, 6, num_in=2), 2)):
        x = jax.random.normal(jax.random.key(1), (4, *made.shape[:num]))
        np.testing.assert_allclose(
            nn.dot(x, made, num=num), nn.dot(x, made.array(), num=num), rtol=1e-5, atol=1e-5
        )
        plain = np.float64(made.base) + 0.5 * np.tensordot(made.down, made.up, 1)
        np.testing.assert_allclose(made.array(), plain, rtol=1e-5, atol=1e-5)


def test_layers_are_scanned() -> None:
    made = leaf(5, 5, layers=3)
    whole = merged(Tree({"layers": {"kernel": made}}))["layers"]["kernel"]

    def scanned(weight: object) -> jax.Array:
        x = jnp.ones((2, 5))
        return jax.lax.scan(lambda x, w: (nn.dot(x, w), None), x, weight)[0]

    np.testing.assert_allclose(scanned(made), scanned(whole), rtol=1e-4, atol=1e-4)


def test_joined_with_what_is_there() -> None:
    kernel = leaf(4, 3)
    base = Tree(
        {"a": {"kernel": kernel.base, "bias": jnp.ones(3)}, "layers": (Tree({"k": kernel.base}),)}
    )
    narrow = {"down": kernel.down, "up": kernel.up}
    tree = joined(
        base, Tree({"a": {"kernel": narrow}, "layers": ({"k": narrow},), "score": jnp.ones(2)}), 0.5
    )
    assert isinstance(tree["a"]["kernel"], LowRank)
    assert isinstance(tree["layers"][0]["k"], LowRank)
    assert tree["score"].shape == (2,)
    plain = merged(tree)
    np.testing.assert_array_equal(plain["a"]["kernel"], kernel.array())
    np.testing.assert_array_equal(plain["a"]["bias"], jnp.ones(3))
