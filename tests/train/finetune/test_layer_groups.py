from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from barrow.nn.layers.repeat import take_apart
from barrow.nn.tree import Tree
from barrow.train.finetune.layer_groups import (
    LayerGroups,
    depth_of,
    frozen_depths,
    grouped_optimizer,
)
from barrow.train.optimizers import AdamW, Muon
from barrow.train.schedules import Constant

SETTINGS = AdamW(Constant(peak=0.1))


@pytest.fixture
def params() -> Any:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> jax.Array:
        return jnp.asarray(rng.standard_normal(shape), jnp.float32).at[..., 0].set(-0.0)

    layers = {"attention": {"q": {"kernel": drawn(3, 4, 4), "bias": drawn(3, 4)}}}
    tables = {"embed": {"table": drawn(5, 4)}, "norm": {"scale": drawn(4)}}
    head = {"out_proj": {"kernel": drawn(4, 2)}}
    return take_apart(Tree({**tables, "layers": layers, "classifier": head}), "layers")


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


def stepped(optimizer: Any, params: Any, num: int = 3) -> tuple[Any, Any]:
    state = optimizer.init(params)
    for i in range(num):
        grads = jax.tree.map(lambda p, i=i: jnp.cos(p * (i + 1)), params)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params, state


def test_depths() -> None:
    for path, depth in (
        ("embed/table", 0),
        ("positions/table", 0),
        ("types/table", 0),
        ("norm/scale", 0),
        ("layers/0/attention/q/kernel", 1),
        ("layers/11/mlp_norm/bias", 12),
        ("classifier/dense/kernel", 13),
    ):
        assert depth_of(path, 12) == depth


def test_what_words_freeze() -> None:
    assert frozen_depths(["embeddings", "layers:0-2", "layers:4"], 6) == {0, 1, 2, 3, 5}
    assert frozen_depths(["layers"], 2) == {1, 2}
    assert frozen_depths([], 2) == set()
    for words, message in (
        (["layers:0-6"], "layers:0-6 is not within the model's layers 0 to 5"),
        (["layers:2-1"], "layers:2-1 is not within"),
        (["head"], "'head' must be embeddings, layers, layers:N or layers:N-M"),
    ):
        with pytest.raises(ValueError, match=message):
            frozen_depths(words, 6)


def test_what_is_frozen_keeps_every_bit_and_has_no_state(params: Any) -> None:
    """ROBERTA-3: −0 among them, which adding 0 would change."""
    groups = LayerGroups(3, frozenset({0, 2}))
    after, state = stepped(grouped_optimizer(SETTINGS, 10, groups), params)
    for name in ("embed", "norm"):
        assert bits(after[name]) == bits(params[name])
    for layer, is_frozen in enumerate((False, True, False)):
        before, now = bits(params["layers"][layer]), bits(after["layers"][layer])
        assert (before == now) == is_frozen
        assert all((a == b) == is_frozen for a, b in zip(before, now, strict=True))
    assert bits(after["classifier"]) != bits(params["classifier"])
    learning = [params["layers"][0], params["layers"][2], params["classifier"]]
    num = sum(leaf.size for leaf in jax.tree.leaves(learning))
    held = sum(leaf.size for leaf in jax.tree.leaves(state) if leaf.ndim)
    assert held == 2 * num  # both moments of what learns, and nothing else


def test_each_depth_has_its_rate(params: Any) -> None:
    """ROBERTA-3: as one optimizer for each depth would have it."""
    after, _ = stepped(grouped_optimizer(SETTINGS, 10, LayerGroups(3, decay=0.5)), params)
    for depth in range(5):
        schedule = Constant(peak=0.1 * 0.5 ** (4 - depth))
        other, _ = stepped(AdamW(schedule).make(10), params)
        part = {0: "embed", 4: "classifier"}.get(depth)
        ours, theirs = (
            tree[part] if part else tree["layers"][depth - 1] for tree in (after, other)
        )
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_what_is_frozen_has_no_gradient(params: Any) -> None:
    groups = LayerGroups(3, frozenset({1}))

    def loss(tree: Any) -> jax.Array:
        return sum(jnp.square(x).sum() for x in jax.tree.leaves(groups.held(tree)))  # type: ignore[return-value]

    grads = jax.grad(loss)(params)
    assert not any(np.asarray(g).any() for g in jax.tree.leaves(grads["layers"][0]))
    assert all(np.asarray(g).any() for g in jax.tree.leaves(grads["layers"][1]))


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="layer_decay must be > 0 and ≤ 1, got 1.5"):
        LayerGroups(3, decay=1.5)
    with pytest.raises(ValueError, match=r"frozen depths must be from 0 to 3, got \[4\]"):
        LayerGroups(3, frozenset({4}))
    with pytest.raises(ValueError, match="Muon needs stacked layers"):
        grouped_optimizer(Muon(), 10, LayerGroups(3))
