"""The linear layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax

from barrow.nn.dot import dot
from barrow.nn.initialisers import Initialiser, fan_in, zeros
from barrow.nn.layers.act_product import act_product
from barrow.nn.layers.act_product import has_kernel as fuses
from barrow.nn.layers.act_rows import act_rows, has_kernel
from barrow.nn.layers.activations import Activation
from barrow.nn.layers.remat import HIDDEN, named
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Axes


@dataclass(frozen=True)
class Dense(Module):
    """y = x·W + b over the last `num_in` dimensions of x.

    Several `features` give several output dimensions, so heads stay a separate dimension:
    [embed] → [heads, head_dim] and, with num_in=2, back again. `axes` names
    the kernel's dimensions, inputs first; the bias has the names of the outputs. `weight_init`
    None is `fan_in` over the dimensions contracted. With an `activation` the result is act(y);
    with `recompute` the backward pass computes it again from the product.
    """

    features: int | tuple[int, ...]
    bias: bool = True
    num_in: int = 1
    axes: Axes = ("embed", "mlp")
    weight_init: Initialiser | None = None
    activation: Activation | None = None
    recompute: bool = True

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """[..., *in] → [..., *features]."""
        out = (self.features,) if isinstance(self.features, int) else tuple(self.features)
        if x.ndim < self.num_in:
            raise ValueError(f"{scope.name}: x has shape {x.shape}, {self.num_in} are contracted")
        outer, inputs = x.shape[: x.ndim - self.num_in], x.shape[x.ndim - self.num_in :]
        init = fan_in(num_in=self.num_in) if self.weight_init is None else self.weight_init
        kernel = scope.param("kernel", (*inputs, *out), init, self.axes)
        if not scope.divides("length"):
            x = x.reshape(math.prod(outer), *inputs)
        act, bias = self.activation, None
        if self.bias:
            bias = scope.param("bias", out, zeros, self.axes[self.num_in :]).astype(x.dtype)
        if act is not None and self.recompute and bias is not None and fuses(x, kernel, act):
            return act_product(x, kernel, bias, act).reshape(*outer, *out)
        y = dot(x, kernel, num=self.num_in)
        finish: Callable[..., jax.Array] = self._finish
        y = y if act is None else named(y, HIDDEN)
        if act is not None and self.recompute:
            if bias is not None and has_kernel(y.shape, y.dtype, act):
                return act_rows(y, bias, act).reshape(*outer, *out)
            # Only the product is kept: reading more back takes longer on a GPU.
            finish = jax.checkpoint(finish)
        if bias is not None and y.ndim == 1 + len(out):
            # As a matrix, so that XLA adds the bias in the product's own kernel.
            y, bias = y.reshape(len(y), -1), bias.reshape(-1)
        # As rows: the gradient of the bias is then a sum over one dimension. For two, XLA first
        # writes a transposed float32 copy of the whole.
        return finish(y, bias).reshape(*outer, *out)

    def _finish(self, y: jax.Array, bias: jax.Array | None) -> jax.Array:
        y = y if bias is None else y + bias
        return y if self.activation is None else self.activation(y)
