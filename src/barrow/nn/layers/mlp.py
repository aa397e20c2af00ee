"""The feed-forward net of a transformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax

from barrow.nn.initialisers import Initialiser, fan_in
from barrow.nn.layers.activations import Activation, activation
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.remat import HIDDEN, named
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class MLP(Module):
    """act(x·up)·down; gated, (act(x·gate) ∘ x·up)·down, of the width of x.

    `activation` is a name from Hugging Face configurations. Gated with "silu" it is SwiGLU
    (Llama), with "gelu" GeGLU. With `recompute` the backward pass computes the activation again
    from its input.
    """

    hidden: int
    activation: str = "gelu"
    gated: bool = False
    bias: bool = True
    recompute: bool = True
    weight_init: Initialiser = fan_in()
    out_init: Initialiser = fan_in()

    def __post_init__(self) -> None:
        activation(self.activation)

    def forward(self, scope: Scope, x: jax.Array) -> jax.Array:
        """The shape and type of x."""

        def grow(name: str, act: Activation | None = None) -> jax.Array:
            dense = Dense(
                self.hidden,
                bias=self.bias,
                axes=("embed", "mlp"),
                weight_init=self.weight_init,
                activation=act,
                recompute=self.recompute,
            )
            y: jax.Array = dense(scope / name, x)
            return scope.constrain(y, "batch", "length", "mlp") if x.ndim == 3 else y

        act = activation(self.activation)
        if self.gated:
            # As one function of both: its gradient is then one pass over them.
            gate: Callable[..., jax.Array] = lambda x, up: act(x) * up  # noqa: E731
            y = (jax.checkpoint(gate) if self.recompute else gate)(
                *(named(grow(name), HIDDEN) for name in ("gate", "up"))
            )
        else:
            y = grow("up", act)
        back = Dense(x.shape[-1], bias=self.bias, axes=("mlp", "embed"), weight_init=self.out_init)
        z: jax.Array = back(scope / "down", y)
        return z
