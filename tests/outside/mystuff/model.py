"""A model family: each token is mixed with a fading memory of those before it, no attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models import CausalModule
from barrow.nn import Dense, Embed, RMSNorm, Scope, zeros


@dataclass(frozen=True)
class FadingConfig:
    """The settings: what is saved, and all that training and scoring ask."""

    vocab_size: int = 259
    width: int = 64
    layers: int = 2
    context: int = 1024

    objective = "barrow.train.tasks.causal:CausalTask"
    scoring = "barrow.score:causal_model"
    usage = "barrow score {run} CORPUS --trust mystuff"

    @property
    def example(self) -> tuple[Any, ...]:
        return (jax.ShapeDtypeStruct((1, 1), jnp.int32),)

    def flops(self, num_params: int, length: int) -> float:
        return 6.0 * num_params

    def module(self, *, dtype: str = "float32", **how: Any) -> Fading:
        return Fading(self, dtype)


@dataclass(frozen=True)
class Fading(CausalModule):
    config: FadingConfig
    dtype: str = "float32"

    def forward(self, scope: Scope, tokens: jax.Array, **inputs: Any) -> jax.Array:
        states, _ = self.hidden(scope, tokens, **inputs)
        return self._table.attend(scope.again("embed"), states)

    def hidden(
        self, scope: Scope, tokens: jax.Array, *, segments: Any = None, **unused: Any
    ) -> tuple[jax.Array, Any]:
        x = self._table(scope / "embed", tokens).astype(self.dtype)
        first = jnp.arange(tokens.shape[1])[None] == 0
        if segments is not None:  # memory ends where a document does
            first = first | (segments != jnp.roll(segments, 1, axis=1))
        for number in range(self.config.layers):
            x = x + self._layer(scope / f"layer{number}", x, first)
        return RMSNorm()(scope / "norm", x), ()

    def head_weight(self, params: Mapping[str, Any]) -> tuple[Any, bool]:
        return params["embed"]["table"], True

    @property
    def _table(self) -> Embed:
        return Embed(self.config.vocab_size, self.config.width, axes=("vocab", "embed"))

    def _layer(self, scope: Scope, x: jax.Array, first: jax.Array) -> jax.Array:
        rate = jax.nn.sigmoid(scope.param("rate", (x.shape[-1],), zeros, ("embed",)))
        kept = jnp.where(first[..., None], 0.0, rate).astype(x.dtype)
        added = (1 - kept) * RMSNorm()(scope / "before", x)

        def both(a: Any, b: Any) -> Any:  # memory[t] = kept[t] * memory[t - 1] + added[t]
            return a[0] * b[0], b[0] * a[1] + b[1]

        _, memory = jax.lax.associative_scan(both, (kept, added), axis=1)
        return Dense(x.shape[-1])(scope / "out", jax.nn.silu(memory))
