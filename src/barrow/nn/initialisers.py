"""What parameters begin as: ``init(key, shape, dtype) -> array``, as in `jax.nn.initializers`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Initialiser = Callable[[jax.Array, tuple[int, ...], Any], jax.Array]


def zeros(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Nothing but 0."""
    del key
    return jnp.zeros(shape, dtype)


def ones(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Nothing but 1."""
    del key
    return jnp.ones(shape, dtype)


def normal(std: float = 0.02) -> Initialiser:
    """Gaussian of mean 0 and a given standard deviation."""

    def init(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        return (std * jax.random.normal(key, shape, jnp.float32)).astype(dtype)

    return init


def uniform(bound: float) -> Initialiser:
    """Uniform between ± a bound."""

    def init(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        return jax.random.uniform(key, shape, jnp.float32, -bound, bound).astype(dtype)

    return init


def fan_in(scale: float = 1.0, *, num_in: int = 1) -> Initialiser:
    """Gaussian of variance scale / n, n the product of the first `num_in` dimensions.

    With it, outputs of ``nn.dot(x, w)`` have the variance of their inputs times `scale`.
    """

    def init(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        return normal(math.sqrt(scale / max(1, math.prod(shape[:num_in]))))(key, shape, dtype)

    return init
