"""Optimizers beside PyTorch's and optax used by hand."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from barrow import nn
from barrow.train import OptimizerSettings, Schedule, decayed, make_optimizer

RNG = np.random.default_rng(0)
SHAPES = {
    "embed/table": (6, 4),
    "layers/attention/out/kernel": (2, 2, 2, 4),
    "layers/mlp/up/bias": (2, 8),
    "layers/mlp/up/kernel": (2, 4, 8),
    "norm/scale": (4,),
}
PARAMS = nn.from_paths({p: jnp.asarray(RNG.normal(size=s), jnp.float32) for p, s in SHAPES.items()})
GRADS = [
    nn.from_paths({p: jnp.asarray(RNG.normal(size=s), jnp.float32) for p, s in SHAPES.items()})
    for _ in range(20)
]
DECAYED = {"embed/table", "layers/attention/out/kernel", "layers/mlp/up/kernel"}


def settings(name, **more) -> OptimizerSettings:
    return OptimizerSettings(name, Schedule(peak=0.01, kind="constant"), **more)


def trained(optimizer):
    params, state = PARAMS, optimizer.init(PARAMS)
    update = jax.jit(optimizer.update)
    for grads in GRADS:
        updates, state = update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return nn.paths(params)


def test_kernels_and_tables_decay_and_nothing_else() -> None:
    assert {path for path, yes in nn.paths(decayed(PARAMS)).items() if yes} == DECAYED


def test_adamw_as_torch_for_twenty_steps() -> None:
    held = {p: torch.tensor(np.asarray(x), requires_grad=True) for p, x in nn.paths(PARAMS).items()}
    groups = [
        {"params": [held[p] for p in held if p in DECAYED], "weight_decay": 0.1},
        {"params": [held[p] for p in held if p not in DECAYED], "weight_decay": 0.0},
    ]
    theirs = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.95), eps=1e-8)
    for grads in GRADS:
        for path, grad in nn.paths(grads).items():
            held[path].grad = torch.tensor(np.asarray(grad))
        theirs.step()
    for path, ours in trained(make_optimizer(settings("adamw"), 20)).items():
        np.testing.assert_allclose(
            ours, held[path].detach().numpy(), rtol=1e-6, atol=1e-6, err_msg=path
        )


def by_hand(name):
    mask = {"mask": decayed}
    if name == "lion":
        return optax.lion(0.01, b1=0.9, b2=0.95, weight_decay=0.1, **mask)
    return optax.adafactor(0.01, weight_decay_rate=0.1, weight_decay_mask=decayed)


@pytest.mark.parametrize("name", ["lion", "adafactor"])
def test_as_optax_by_hand(name) -> None:
    wanted = trained(by_hand(name))
    for path, ours in trained(make_optimizer(settings(name), 20)).items():
        np.testing.assert_allclose(ours, wanted[path], atol=1e-6, err_msg=path)


def test_muon_takes_each_matrix_of_the_layers_by_itself_and_adamw_the_rest() -> None:
    found = trained(make_optimizer(settings("muon"), 20))
    adamw = trained(
        optax.adamw(0.01, b1=0.9, b2=0.95, weight_decay=0.1, mask=decayed, nesterov=True)
    )
    for path in SHAPES:
        is_matrix = path.startswith("layers/") and path.endswith("kernel")
        same = np.allclose(found[path], adamw[path], atol=1e-5)
        assert same != is_matrix, path
    # A layer alone, as a plain matrix, gives what it gives among others.
    alone = optax.contrib.muon(0.01, beta=0.95, weight_decay=0.1)
    update = jax.jit(alone.update)
    for path, rows in (("layers/mlp/up/kernel", 4), ("layers/attention/out/kernel", 4)):
        for layer in range(2):
            w = {"w": nn.paths(PARAMS)[path][layer].reshape(rows, -1)}
            state = alone.init(w)
            for grads in GRADS:
                g = {"w": nn.paths(grads)[path][layer].reshape(rows, -1)}
                updates, state = update(g, state, w)
                w = optax.apply_updates(w, updates)
            ours = np.asarray(found[path][layer]).reshape(rows, -1)
            np.testing.assert_allclose(ours, w["w"], atol=2e-5, err_msg=path)


def test_the_schedule_is_followed() -> None:
    optimizer = make_optimizer(
        OptimizerSettings("lion", Schedule(peak=1.0, kind="linear", end=0.0), decay=0.0), 4
    )
    params, state = {"x": jnp.zeros(1)}, optimizer.init({"x": jnp.zeros(1)})
    moved = []
    for _ in range(5):
        updates, state = optimizer.update({"x": jnp.ones(1)}, state, params)
        moved.append(-float(updates["x"][0]))
    assert moved == pytest.approx([1, 0.75, 0.5, 0.25, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "sgd"}, "no optimizer 'sgd': adamw, lion, adafactor or muon"),
        ({"beta1": 1.0}, "beta1 is from 0 to below 1, not 1.0"),
        ({"beta2": -0.1}, "beta2 is from 0 to below 1, not -0.1"),
        ({"eps": 0.0}, "eps is above 0"),
        ({"decay": math.nan}, "decay at least 0, not .*nan"),
    ],
)
def test_bad_settings(wrong, said) -> None:
    with pytest.raises(ValueError, match=said):
        OptimizerSettings(**wrong)
