"""BatchNorm and its running statistics (FLAX-9, FLAX-11)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn


@golden("torch")
def by_torch(steps, last):
    """A norm after each step of training, and its outputs in evaluation."""
    import torch

    norm = (torch.nn.BatchNorm2d if last.ndim == 4 else torch.nn.BatchNorm1d)(3, momentum=0.2)
    with torch.no_grad():
        norm.weight += torch.tensor([0.5, -0.2, 0.1])
        norm.bias += torch.tensor([0.1, 0.2, -0.3])
    results = []
    for x, toward in steps:
        norm.zero_grad()
        x = torch.tensor(x, requires_grad=True)
        y = norm(x.movedim(-1, 1)).movedim(1, -1)
        y.backward(torch.tensor(toward))
        gradients = x.grad, norm.weight.grad.clone(), norm.bias.grad.clone()
        results.append([y, *gradients, norm.running_mean.clone(), norm.running_var.clone()])
    norm.eval()
    held = {"scale": norm.weight, "bias": norm.bias}
    return held, results, norm(torch.tensor(last).movedim(-1, 1)).movedim(1, -1)


@pytest.mark.parametrize("shape", [(5, 3), (4, 6, 3), (2, 4, 5, 3)])
def test_as_torch_over_several_steps_then_in_evaluation(close, normal, shape) -> None:
    steps = [
        (2 * normal(*shape, seed=step) + 1, normal(*shape, seed=10 + step)) for step in range(4)
    ]
    last = normal(*shape, seed=99)
    held, results, at_last = by_torch(steps, last)
    params = nn.Tree({name: jnp.asarray(x) for name, x in held.items()})
    model = nn.BatchNorm(momentum=0.2)
    state = nn.init_collections(model, jnp.asarray(normal(*shape)))
    for (x, toward), wanted in zip(steps, results, strict=True):

        def forward(params, x, state=state):
            return model.apply_and_collect(params, x, collections=state, mutable=("batch_stats",))

        y, pull, state = jax.vjp(forward, params, jnp.asarray(x), has_aux=True)
        of_params, of_x = pull(jnp.asarray(toward))
        running = state["batch_stats"]
        ours = [y, of_x, of_params["scale"], of_params["bias"], running["mean"], running["var"]]
        for one, other in zip(ours, wanted, strict=True):
            close(one, other)
    close(model.apply(params, jnp.asarray(last), collections=state), at_last)


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope, x, each=None):
        return jnp.tanh(nn.BatchNorm()(scope / "norm", x)) + x, None


@pytest.mark.parametrize("remat", [None, nn.Policy()])
def test_each_repeated_layer_has_statistics_of_its_own(close, normal, remat) -> None:
    x = jnp.asarray(3 * normal(8, 3) + 1)
    scanned = nn.Repeat(Layer(), 3, remat=remat)
    params, state = scanned.init(jax.random.key(0), x), nn.init_collections(scanned, x)
    assert state["batch_stats"]["norm"]["mean"].shape == (3, 3)
    found = []
    for model in (scanned, nn.Repeat(Layer(), 3, unroll=True)):
        (y, _), after = model.apply_and_collect(
            params, x, collections=state, mutable=("batch_stats",)
        )
        found.append((y, *nn.paths(after).values()))
    for ours, other in zip(*found, strict=True):
        close(ours, other)
    mean, h = found[0][1], x
    for k in range(3):
        close(mean[k], 0.1 * jnp.mean(h, 0))
        (h, _), _ = Layer().apply_and_collect(
            jax.tree.map(lambda p, k=k: p[k], params), h, mutable=("batch_stats",)
        )


def test_the_collections_given_are_not_changed(normal) -> None:
    x = jnp.asarray(normal(5, 3))
    state = nn.init_collections(nn.BatchNorm(), x)
    nn.BatchNorm().apply_and_collect(
        nn.BatchNorm().init(jax.random.key(0), x), x, collections=state, mutable=("batch_stats",)
    )
    assert not jnp.any(state["batch_stats"]["mean"])


def test_float32_inside(normal) -> None:
    x = jnp.asarray(normal(2000, 2) + 1, jnp.bfloat16)
    params = nn.BatchNorm().init(jax.random.key(0), x)
    y, state = nn.BatchNorm().apply_and_collect(params, x, mutable=("batch_stats",))
    assert y.dtype == jnp.bfloat16
    assert state["batch_stats"]["mean"].dtype == jnp.float32
    wanted = 0.1 * np.mean(np.asarray(x, np.float64), 0)
    np.testing.assert_allclose(state["batch_stats"]["mean"], wanted, rtol=1e-5)


def test_bad_input() -> None:
    x = jnp.ones((4, 3))
    params = nn.BatchNorm().init(jax.random.key(0), x)
    with pytest.raises(ValueError, match="no running statistics; pass collections="):
        nn.BatchNorm().apply(params, x)
    with pytest.raises(ValueError, match=r"one value per channel \(\(1, 3\)\) has no variance"):
        nn.BatchNorm().apply_and_collect(params, x[:1], mutable=("batch_stats",))
    other = nn.init_collections(nn.BatchNorm(), jnp.ones((4, 5)))
    with pytest.raises(ValueError, match=r"x has 3 channels, the running mean is of shape \(5,\)"):
        nn.BatchNorm().apply(params, x, collections=other)


def test_a_scale_that_begins_as_nothing() -> None:
    specs = nn.describe(nn.BatchNorm(scale_init=nn.zeros), jnp.ones((2, 3)))
    assert specs["scale"].init is nn.zeros
    assert nn.describe(nn.BatchNorm(), jnp.ones((2, 3)))["scale"].init is nn.ones
