"""Initial values of parameters: ``init(key, shape, dtype) -> array``, as `jax.nn.initializers`.

Initialisers made with the same numbers are equal, and so are modules: a function that takes a
module as a static argument is compiled once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

Initialiser = Callable[[jax.Array, tuple[int, ...], Any], jax.Array]


def zeros(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """All 0."""
    del key
    return jnp.zeros(shape, dtype)


def ones(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """All 1."""
    del key
    return jnp.ones(shape, dtype)


def constant(value: float) -> Initialiser:
    """All the same number."""
    return _Constant(value)


def normal(std: float = 0.02) -> Initialiser:
    """Gaussian of mean 0 and a given standard deviation."""
    return _Normal(std)


def uniform(bound: float) -> Initialiser:
    """Uniform between ± a bound."""
    return _Uniform(bound)


def fan_in(scale: float = 1.0, *, num_in: int = 1) -> Initialiser:
    """Gaussian of variance scale / n, n the product of the first `num_in` dimensions.

    With it, ``nn.dot(x, w, num=num_in)`` has the variance of x times `scale`.
    """
    return _FanIn(scale, num_in)


@dataclass(frozen=True)
class _Constant:
    value: float

    def __call__(self, key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        del key
        return jnp.full(shape, self.value, dtype)


@dataclass(frozen=True)
class _Normal:
    std: float

    def __call__(self, key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        return (self.std * jax.random.normal(key, shape, jnp.float32)).astype(dtype)


@dataclass(frozen=True)
class _Uniform:
    bound: float

    def __call__(self, key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        bound = self.bound
        return jax.random.uniform(key, shape, jnp.float32, -bound, bound).astype(dtype)


@dataclass(frozen=True)
class _FanIn:
    scale: float
    num_in: int

    def __call__(self, key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        std = math.sqrt(self.scale / max(1, math.prod(shape[: self.num_in])))
        return _Normal(std)(key, shape, dtype)
