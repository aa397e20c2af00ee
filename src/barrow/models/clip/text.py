"""CLIP's text tower: a causal transformer, read at the end of the text."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from barrow.models.clip.config import TextConfig
from barrow.models.clip.tower import Running, Tower
from barrow.nn.initialisers import normal
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.embed import Embed
from barrow.nn.layers.norms import LayerNorm
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class TextTransformer(Module):
    """Ids [batch, length], with start and end of text among them, to embeddings [batch, embed].

    It is read at the highest id, the end of the text; the first if there are several. So rows may
    be padded with zeros or with further ends.
    """

    config: TextConfig
    embed: int
    activation: str = "quick_gelu"
    eps: float = 1e-5
    running: Running = field(default_factory=Running)

    def forward(self, scope: Scope, ids: jax.Array) -> jax.Array:
        """The embedding, in float32, not normalised."""
        config = self.config
        if ids.ndim != 2 or not 1 <= ids.shape[1] <= config.context:
            raise ValueError(
                f"{scope.name}: expected ids [batch, up to {config.context}], got {list(ids.shape)}"
            )
        dtype = self.running.dtype
        table = Embed(config.vocab_size, config.width, weight_init=normal(0.02))
        x = table(scope / "embed", ids).astype(dtype)
        positions = (scope / "positions").param(
            "table", (config.context, config.width), normal(0.01), ("positions", "embed")
        )
        x = x + positions[: ids.shape[1]].astype(dtype)
        x = scope.constrain(x, "batch", "length", "embed")
        tower = Tower(
            config.layers,
            config.heads,
            causal=True,
            activation=self.activation,
            eps=self.eps,
            running=self.running,
        )
        x = tower(scope / "tower", x, jnp.argmax(ids, axis=1))
        x = LayerNorm(eps=self.eps)(scope / "norm", x)
        projection = Dense(
            self.embed,
            bias=False,
            axes=("embed", "joint"),
            weight_init=normal(config.width**-0.5),
        )
        y: jax.Array = projection(scope / "projection", x)
        return y.astype(jnp.float32)
