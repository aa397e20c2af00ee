"""Normalisation of each example. Statistics are float32 for any type of x."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.initialisers import Initialiser, ones, zeros
from barrow.nn.layers.norm_rows import norm_beside, norm_rows
from barrow.nn.layers.remat import STATISTICS, named
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Axes


@dataclass(frozen=True)
class LayerNorm(Module):
    """(x − mean) / √(variance + eps) · scale + bias over the last dimensions, as many as `axes`.

    The variance is the mean square distance from the mean.
    """

    eps: float = 1e-5
    scale: bool = True
    bias: bool = True
    axes: Axes = ("embed",)

    def forward(self, scope: Scope, x: jax.Array, *, beside: bool = False) -> Any:
        """The shape and type of x; with `beside` x itself and the norm, for a residual.

        The residual then leads through x as returned: its gradient is added in the same pass.
        """
        num = len(self.axes)
        if x.ndim < num:
            raise ValueError(f"{scope.name}: x has shape {x.shape}, the norm is over {num}")
        shape = x.shape[x.ndim - num :]
        if _has_own_gradient(scope, x, num):
            params = _affine_params(scope, shape, self.axes, scale=self.scale, bias=self.bias)
            return _by_rows(scope, x, params, self.eps, beside, centred=True)
        y = _standard(_rows(scope, x, num).astype(jnp.float32), tuple(range(-num, 0)), self.eps)
        y = affine(scope, y, shape, self.axes, scale=self.scale, bias=self.bias)
        y = y.astype(x.dtype).reshape(x.shape)
        return (x, y) if beside else y


@dataclass(frozen=True)
class RMSNorm(Module):
    """x / √(mean of x² + eps) · scale over the last dimensions, as many as `axes`."""

    eps: float = 1e-6
    scale: bool = True
    axes: Axes = ("embed",)

    def forward(self, scope: Scope, x: jax.Array, *, beside: bool = False) -> Any:
        """The shape and type of x; with `beside` x itself and the norm, as `LayerNorm`."""
        num = len(self.axes)
        if _has_own_gradient(scope, x, num):
            shape = x.shape[x.ndim - num :]
            params = _affine_params(scope, shape, self.axes, scale=self.scale, bias=False)
            return _by_rows(scope, x, params, self.eps, beside, centred=False)
        y = _rows(scope, x, num).astype(jnp.float32)
        dims = tuple(range(-num, 0))
        spread = lax.rsqrt(jnp.mean(y * y, axis=dims, keepdims=True) + self.eps)
        y = y * named(spread, STATISTICS)
        y = affine(scope, y, x.shape[-num:], self.axes, scale=self.scale, bias=False)
        y = y.astype(x.dtype).reshape(x.shape)
        return (x, y) if beside else y


@dataclass(frozen=True)
class GroupNorm(Module):
    """LayerNorm over all places and the channels of a group; scale and bias for each channel.

    x is [batch, *space, channels]; group g has the channels g·n to (g+1)·n.
    """

    num_groups: int
    eps: float = 1e-5
    scale: bool = True
    bias: bool = True
    axes: Axes = ("embed",)

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """The shape and type of x."""
        channels = x.shape[-1]
        if x.ndim < 2 or channels % self.num_groups:
            raise ValueError(
                f"{scope.name}: x must be [batch, ..., channels] with channels a multiple "
                f"of {self.num_groups}, got {x.shape}"
            )
        y = x.astype(jnp.float32).reshape(
            *x.shape[:-1], self.num_groups, channels // self.num_groups
        )
        y = _standard(y, (*range(1, x.ndim - 1), x.ndim), self.eps).reshape(x.shape)
        y = affine(scope, y, (channels,), self.axes, scale=self.scale, bias=self.bias)
        return y.astype(x.dtype)


def affine(
    scope: Scope,
    y: jax.Array,
    shape: tuple[int, ...],
    axes: Axes,
    *,
    scale: bool,
    bias: bool,
    scale_init: Initialiser = ones,
) -> jax.Array:
    """Scale and shift y in float32; either may be absent."""
    by, to = _affine_params(scope, shape, axes, scale=scale, bias=bias, scale_init=scale_init)
    y = y if by is None else y * by.astype(jnp.float32)
    return y if to is None else y + to.astype(jnp.float32)


def _affine_params(
    scope: Scope,
    shape: tuple[int, ...],
    axes: Axes,
    *,
    scale: bool,
    bias: bool,
    scale_init: Initialiser = ones,
) -> tuple[jax.Array | None, jax.Array | None]:
    by = scope.param("scale", shape, scale_init, axes) if scale else None
    return by, scope.param("bias", shape, zeros, axes) if bias else None


def _has_own_gradient(scope: Scope, x: jax.Array, num: int) -> bool:
    """Whether `norm_rows` is used: over one dimension, on a GPU."""
    return num == 1 and jax.default_backend() == "gpu" and not _is_apart(scope, x, num)


def _by_rows(
    scope: Scope,
    x: jax.Array,
    params: tuple[jax.Array | None, jax.Array | None],
    eps: float,
    beside: bool,
    *,
    centred: bool,
) -> Any:
    rows = _rows(scope, x, 1)
    if not beside:
        return norm_rows(rows, *params, eps, centred).reshape(x.shape)
    both = norm_beside(rows, *params, eps, centred)
    return both[0].reshape(x.shape), both[1].reshape(x.shape)


def _rows(scope: Scope, x: jax.Array, num: int) -> jax.Array:
    """As rows: all dimensions but the last `num` in one.

    Gradients of scale and bias are then sums over one dimension. For two, XLA first writes a
    transposed float32 copy of the whole. Dimensions after the first that are divided over devices
    stay: in one they would be gathered.
    """
    if _is_apart(scope, x, num):
        return x
    return x.reshape(math.prod(x.shape[: x.ndim - num]), *x.shape[x.ndim - num :])


def _is_apart(scope: Scope, x: jax.Array, num: int) -> bool:
    return scope.divides("length") or (x.ndim - num > 2 and scope.divides("heads"))


def _standard(x: jax.Array, dims: tuple[int, ...], eps: float) -> jax.Array:
    # Mean first: the mean of squares minus the square of the mean cancels where the mean is large.
    x = x - named(jnp.mean(x, axis=dims, keepdims=True), STATISTICS)
    spread = lax.rsqrt(jnp.mean(x * x, axis=dims, keepdims=True) + eps)
    standard: jax.Array = x * named(spread, STATISTICS)
    return standard
