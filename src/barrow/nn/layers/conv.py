"""Convolution over one, two or three spatial dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.initialisers import Initialiser, fan_in, zeros
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Axes

Padding = Literal["SAME", "VALID"] | tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Conv(Module):
    """y = x ⋆ W + b (cross-correlation), channels last: x is [batch, *space, channels].

    The kernel is [*window, channels / groups, features]. `padding` is SAME (output as large as x
    over the stride, an odd one at the end), VALID, or pairs of numbers, one for each spatial
    dimension. `dilation` is the distance between taps of the window; it and `strides` are one
    number for all dimensions or one for each. `axes` names the kernel's last two dimensions.
    """

    features: int
    window: tuple[int, ...]
    strides: int | tuple[int, ...] = 1
    padding: Padding = "SAME"
    dilation: int | tuple[int, ...] = 1
    groups: int = 1
    bias: bool = True
    axes: Axes = ("embed", "mlp")
    weight_init: Initialiser | None = None

    def __post_init__(self) -> None:
        dims = len(self.window)
        if not 1 <= dims <= 3:
            raise ValueError(f"Conv: window must have 1 to 3 dimensions, got {self.window}")
        for name in ("strides", "dilation"):
            given = getattr(self, name)
            if len(_each(given, dims)) != dims or min(_each(given, dims)) < 1:
                raise ValueError(
                    f"Conv: {name} must be a positive number or {dims} of them, got {given}"
                )
        if isinstance(self.padding, str):
            if self.padding not in ("SAME", "VALID"):
                raise ValueError(
                    f"Conv: padding must be SAME, VALID or pairs of numbers, got {self.padding!r}"
                )
        elif len(self.padding) != dims or any(len(pair) != 2 for pair in self.padding):
            raise ValueError(f"Conv: padding must be {dims} pairs of numbers, got {self.padding}")
        if self.features % self.groups:
            raise ValueError(f"Conv: {self.groups} groups do not divide {self.features} features")

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """[batch, *space, channels] → [batch, *space, features]."""
        dims = len(self.window)
        if x.ndim != dims + 2 or not jnp.issubdtype(x.dtype, jnp.floating):
            raise ValueError(
                f"{scope.name}: x must be floating point [batch, {dims} spatial "
                f"dimensions, channels], got {x.dtype}{list(x.shape)}"
            )
        channels = x.shape[-1]
        if channels % self.groups:
            raise ValueError(
                f"{scope.name}: {self.groups} groups do not divide {channels} channels"
            )
        shape = (*self.window, channels // self.groups, self.features)
        init = fan_in(num_in=dims + 1) if self.weight_init is None else self.weight_init
        kernel = scope.param("kernel", shape, init, (*(None,) * dims, *self.axes))
        space = "DHW"[3 - dims :]
        y = lax.conv_general_dilated(
            x,
            kernel.astype(x.dtype),
            _each(self.strides, dims),
            self.padding,
            rhs_dilation=_each(self.dilation, dims),
            dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"),
            feature_group_count=self.groups,
        )
        if self.bias:
            y = y + scope.param("bias", (self.features,), zeros, self.axes[1:]).astype(y.dtype)
        return y


def _each(given: int | tuple[int, ...], dims: int) -> tuple[int, ...]:
    return (given,) * dims if isinstance(given, int) else tuple(given)
