"""MLP, plain and gated (FLAX-9)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn


def by_torch(activation: str, gated: bool, bias: bool):
    import torch
    from transformers.activations import ACT2FN

    class Theirs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = torch.nn.Linear(6, 10, bias=bias)
            self.gate = torch.nn.Linear(6, 10, bias=bias) if gated else None
            self.down = torch.nn.Linear(10, 6, bias=bias)
            self.act = ACT2FN[activation]

        def forward(self, x):
            if self.gate is None:
                return self.down(self.act(self.up(x)))
            return self.down(self.act(self.gate(x)) * self.up(x))

    return Theirs()


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(
    ("activation", "bias"),
    [("gelu", True), ("gelu_new", True), ("quick_gelu", True), ("silu", False), ("relu", False)],
)
def test_as_torch(same_as_torch, normal, activation, gated, bias) -> None:
    names = {}
    for layer in ("up", "down", *(("gate",) if gated else ())):
        names[f"{layer}/kernel"] = (f"{layer}.weight", np.transpose)
        if bias:
            names[f"{layer}/bias"] = (f"{layer}.bias", np.asarray)
    model = nn.MLP(10, activation, gated=gated, bias=bias)
    same_as_torch(model, (by_torch, (activation, gated, bias), {}), normal(2, 3, 6), names)


def test_axes_and_initialisers() -> None:
    model = nn.MLP(400, weight_init=nn.normal(0.5), out_init=nn.normal(0.01))
    x = jnp.ones((1, 2, 300))
    axes = nn.axes(model, x)
    assert axes["up"]["kernel"] == ("embed", "mlp")
    assert axes["down"]["kernel"] == ("mlp", "embed")
    params = model.init(jax.random.key(0), x)
    assert float(jnp.std(params["up"]["kernel"])) == pytest.approx(0.5, rel=0.02)
    assert float(jnp.std(params["down"]["kernel"])) == pytest.approx(0.01, rel=0.02)


def test_the_hidden_activations_are_named() -> None:
    seen = []

    def constrain(x, axes):
        seen.append((x.shape, axes))
        return x

    model = nn.MLP(10, gated=True)
    params = model.init(jax.random.key(0), jnp.ones((2, 3, 6)))
    model.apply(params, jnp.ones((2, 3, 6)), constrain=constrain)
    assert seen == [((2, 3, 10), ("batch", "length", "mlp"))] * 2


def test_an_unknown_activation_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="no activation 'mish'"):
        nn.MLP(10, "mish")
