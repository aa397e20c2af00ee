"""The linear layer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax

from barrow.nn.dot import dot
from barrow.nn.initialisers import Initialiser, fan_in, zeros
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Axes


@dataclass(frozen=True)
class Dense(Module):
    """y = x·W + b over the last `num_in` dimensions of x.

    Several `features` give several output dimensions, so heads stay a separate dimension:
    [embed] → [heads, head_dim] and, with num_in=2, back again. `axes` names
    the kernel's dimensions, inputs first; the bias has the names of the outputs. `weight_init`
    None is `fan_in` over the dimensions contracted.
    """

    features: int | tuple[int, ...]
    bias: bool = True
    num_in: int = 1
    axes: Axes = ("embed", "mlp")
    weight_init: Initialiser | None = None

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
        y = dot(x, kernel, num=self.num_in)
        if self.bias:
            # As rows: the gradient is then a sum over one dimension. For two, XLA first writes a
            # transposed float32 copy of the whole.
            y = y + scope.param("bias", out, zeros, self.axes[self.num_in :]).astype(y.dtype)
        return y.reshape(*outer, *out)
