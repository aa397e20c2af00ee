"""Normalisation of each channel over the batch."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.initialisers import Initialiser, ones
from barrow.nn.layers.norms import affine
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Axes

COLLECTION = "batch_stats"


@dataclass(frozen=True)
class BatchNorm(Module):
    """(x − mean) / √(variance + eps) · scale + bias of each channel, the last dimension of x.

    Where the collection `batch_stats` is mutable in this call, mean and variance are those of the
    batch, and the running ones become (1 − momentum)·running + momentum·batch, of which the
    variance is the unbiased one (as in PyTorch). Otherwise the running ones are used. A batch that
    is sharded under `jit` is one batch: its statistics are global. With `scale_init` zeros a
    residual branch begins as 0.
    """

    momentum: float = 0.1
    eps: float = 1e-5
    scale: bool = True
    bias: bool = True
    axes: Axes = ("embed",)
    scale_init: Initialiser = ones

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """The shape and type of x."""
        channels = x.shape[-1]
        y = x.astype(jnp.float32)
        running_mean = scope.read(COLLECTION, "mean", lambda: jnp.zeros((channels,)))
        running_var = scope.read(COLLECTION, "var", lambda: jnp.ones((channels,)))
        if running_mean.shape != (channels,):
            raise ValueError(
                f"{scope.name}: x has {channels} channels, the running mean is of shape "
                f"{running_mean.shape}"
            )
        if scope.is_mutable(COLLECTION):
            num = x.size // channels
            if num < 2:
                raise ValueError(
                    f"{scope.name}: one value per channel ({x.shape}) has no variance; use "
                    "a larger batch"
                )
            mean = jnp.mean(y, axis=range(x.ndim - 1))
            var = jnp.mean(jnp.square(y - mean), axis=range(x.ndim - 1))
            self._update(scope, "mean", running_mean, mean)
            self._update(scope, "var", running_var, var * (num / (num - 1)))
        elif scope.trace.is_describing or scope.holds(COLLECTION, "mean"):
            mean, var = running_mean, running_var
        else:
            raise ValueError(
                f"{scope.name}: no running statistics; pass collections={{'{COLLECTION}': "
                "...} as training returned them (nn.init_collections gives those of the "
                "start)"
            )
        y = (y - mean) * lax.rsqrt(var + self.eps)
        y = affine(
            scope,
            y,
            (channels,),
            self.axes,
            scale=self.scale,
            bias=self.bias,
            scale_init=self.scale_init,
        )
        return y.astype(x.dtype)

    def _update(self, scope: Scope, name: str, running: jax.Array, batch: jax.Array) -> None:
        new = (1 - self.momentum) * running + self.momentum * batch
        scope.write(COLLECTION, name, lax.stop_gradient(new))
