"""Activations, by their names in Hugging Face configurations."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

Activation = Callable[[jax.Array], jax.Array]


def gelu(x: jax.Array) -> jax.Array:
    """x·Φ(x), Φ the Gaussian distribution function."""
    # By erf, like PyTorch: JAX uses erfc, which takes three times as long.
    y = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return (0.5 * y * (1 + jax.lax.erf(y * math.sqrt(0.5)))).astype(x.dtype)


def gelu_tanh(x: jax.Array) -> jax.Array:
    """x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))): GPT-2's."""
    return jax.nn.gelu(x, approximate=True)


def quick_gelu(x: jax.Array) -> jax.Array:
    """x·σ(1.702·x): CLIP's."""
    return x * jax.nn.sigmoid(1.702 * x)


def silu(x: jax.Array) -> jax.Array:
    """x·σ(x)."""
    return jax.nn.silu(x)


def relu(x: jax.Array) -> jax.Array:
    """The larger of x and 0; its gradient at 0 is 0."""
    return jax.nn.relu(x)


def tanh(x: jax.Array) -> jax.Array:
    """The hyperbolic tangent."""
    return jnp.tanh(x)


ACTIVATIONS: dict[str, Activation] = {
    "gelu": gelu,
    "gelu_new": gelu_tanh,
    "gelu_pytorch_tanh": gelu_tanh,
    "quick_gelu": quick_gelu,
    "relu": relu,
    "silu": silu,
    "tanh": tanh,
}


def activation(name: str) -> Activation:
    """The function of a name."""
    if name not in ACTIVATIONS:
        raise ValueError(f"no activation {name!r}; there are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]
