"""Activations beside PyTorch and transformers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn.layers.activations import ACTIVATIONS


@golden("torch", "transformers")
def by_transformers(name, x):
    import torch
    from transformers.activations import ACT2FN

    x = torch.tensor(x, requires_grad=True)
    y = ACT2FN[name](x)
    y.sum().backward()
    return y, x.grad


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_as_transformers(name, close) -> None:
    x = np.concatenate([np.linspace(-12, 12, 401), [1e4, -1e4]]).astype(np.float32)
    wanted, gradient = by_transformers(name, x)
    ours, pull = jax.vjp(nn.activation(name), jnp.asarray(x))
    close(ours, wanted)
    close(pull(jnp.ones_like(ours))[0], gradient)


def test_exact_and_approximate_gelu_differ() -> None:
    x = jnp.array([1.0, 2.0])
    assert jnp.all(jnp.abs(nn.gelu(x) - nn.gelu_tanh(x)) > 1e-5)
    assert nn.activation("gelu") is nn.gelu
    assert nn.activation("gelu_new") is nn.gelu_tanh


def test_the_type_stays() -> None:
    for name in ACTIVATIONS:
        assert nn.activation(name)(jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="no activation 'gelu_old'; there are gelu, gelu_new"):
        nn.activation("gelu_old")
