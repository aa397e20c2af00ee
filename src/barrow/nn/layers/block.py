"""A transformer block: attention and a feed-forward net, each with a residual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jax

from barrow.nn.attention.multi_head import MultiHead
from barrow.nn.layers.dropout import Dropout
from barrow.nn.layers.experts import Experts
from barrow.nn.layers.norms import LayerNorm, RMSNorm
from barrow.nn.layers.remat import RESIDUAL, named
from barrow.nn.module import Module
from barrow.nn.scope import Scope

Norms = Literal["pre", "post", "after", "parallel"]


@dataclass(frozen=True)
class Block(Module):
    """Where the norms are:

    pre       x + A(n₁x), then x + M(n₂x)      GPT-2, Llama
    post      n₁(x + A(x)), then n₂(x + M(x))  BERT, RoBERTa
    after     x + n₁A(x), then x + n₂M(x)      OLMo 2
    parallel  x + A(n₁x) + M(n₂x)              GPT-NeoX, Pythia
    """

    attention: MultiHead
    mlp: Module
    norm: Module = LayerNorm()
    norms: Norms = "pre"
    dropout: float = 0.0

    def forward(
        self,
        scope: Scope,
        x: jax.Array,
        cache: Any = None,
        context: Any = None,
        real: jax.Array | None = None,
    ) -> tuple[jax.Array, Any]:
        """The new x and cache; `context` are keyword arguments of attention, the same for all.

        `real` [batch, length] is false for padding, which experts do not compute.
        """
        drop = Dropout(self.dropout)
        shape = x.shape
        # Rows, except for attention: the compiler then does not choose length-major layouts.
        # A length that is divided over devices stays a dimension.
        x = x if scope.divides("length") else x.reshape(-1, shape[-1])

        def attend(x: jax.Array) -> tuple[jax.Array, Any]:
            whole = x.reshape(shape)
            y, after = self.attention(scope / "attention", whole, cache=cache, **(context or {}))
            return drop(scope / "attention_dropout", y.reshape(x.shape)), after

        def feed(x: jax.Array) -> jax.Array:
            if isinstance(self.mlp, Experts):
                y = self.mlp(scope / "mlp", x.reshape(shape), real).reshape(x.shape)
            else:
                y = self.mlp(scope / "mlp", x)
            return drop(scope / "mlp_dropout", y)  # type: ignore[no-any-return]

        def first(x: jax.Array) -> jax.Array:
            return self.norm(scope / "attention_norm", x)  # type: ignore[no-any-return]

        def second(x: jax.Array) -> jax.Array:
            return self.norm(scope / "mlp_norm", x)  # type: ignore[no-any-return]

        def apart(name: str, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            """A residual, and the norm of it."""
            if isinstance(self.norm, LayerNorm | RMSNorm):
                both: tuple[jax.Array, jax.Array] = self.norm(scope / name, x, beside=True)
                return both
            return x, self.norm(scope / name, x)

        if self.norms == "parallel":
            y, cache = attend(first(x))
            x = x + y + feed(second(x))
        elif self.norms == "pre":
            x, normed = apart("attention_norm", x)
            y, cache = attend(normed)
            x, normed = apart("mlp_norm", named(x + y, RESIDUAL))
            x = x + feed(normed)
        elif self.norms == "after":
            y, cache = attend(x)
            x = x + first(named(y, RESIDUAL))
            x = x + second(named(feed(x), RESIDUAL))
        else:
            y, cache = attend(x)
            x = first(named(x + y, RESIDUAL))
            x = second(named(x + feed(x), RESIDUAL))
        x = scope.constrain(x.reshape(shape), "batch", "length", "embed")
        scope.capture("hidden", x)
        return x, cache
