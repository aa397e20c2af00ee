"""RoBERTa: a bidirectional encoder of tokens, and the head for masked tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.attention.attention import Backend
from barrow.nn.attention.multi_head import MultiHead
from barrow.nn.dot import as_array
from barrow.nn.initialisers import normal, zeros
from barrow.nn.layers.activations import activation
from barrow.nn.layers.block import Block
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.dropout import Dropout
from barrow.nn.layers.embed import Embed
from barrow.nn.layers.mlp import MLP
from barrow.nn.layers.norms import LayerNorm
from barrow.nn.layers.remat import Policy
from barrow.nn.layers.repeat import Repeat
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class RobertaConfig:
    """The architecture, as numbers and choices. Defaults are those of roberta-base.

    - `vocab_size`: ids; the data decide it; `width`: of hidden states; `layers`: how many;
      `heads`: of attention; `hidden`: width inside the MLP.
    - `positions`: rows of the table; the first `pad` + 1 belong to padding, so 514 are 512 places.
    - `token_types`: kinds of segments; `pad`: the id of padding; `norm_eps`: added to the variance.
    - `activation`: of the MLP; `dropout`: of hidden states; `init_std`: of the first weights.
    - `mlm_head`, `pooler`: whether these parameters are there after the layers.
    - `tied`: the table of embeddings makes the logits too.
    """

    vocab_size: int = 50265
    width: int = 768
    layers: int = 12
    heads: int = 12
    hidden: int = 3072
    positions: int = 514
    token_types: int = 1
    pad: int = 1
    norm_eps: float = 1e-5
    activation: str = "gelu"
    dropout: float = 0.1
    init_std: float = 0.02
    mlm_head: bool = True
    tied: bool = True
    pooler: bool = False

    objective = "barrow.train.tasks.masked:MaskedTask"
    usage = 'barrow model fill "This is a <mask>." --model {run}'

    def __post_init__(self) -> None:
        for name in ("vocab_size", "width", "layers", "heads", "hidden", "token_types"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be ≥ 1, got {getattr(self, name)}")
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")
        if not 0 <= self.pad < self.vocab_size:
            raise ValueError(
                f"pad must be an id below vocab_size {self.vocab_size}, got {self.pad}"
            )
        if self.context < 1:
            raise ValueError(
                f"positions start after the padding id {self.pad}: {self.positions} rows "
                f"leave {self.context}"
            )
        activation(self.activation)

    @property
    def context(self) -> int:
        """Tokens that a row may have."""
        return self.positions - self.pad - 1

    @property
    def scoring(self) -> str:
        """By pseudo-likelihood, where there is a head for tokens."""
        return "barrow.score:pseudo_likelihood_model" if self.mlm_head else ""

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return (jax.ShapeDtypeStruct((1, 1), jnp.int32),)

    def module(
        self, *, unroll: bool = False, remat: Policy | None = None, dtype: str = "float32"
    ) -> Roberta:
        """See `Family`."""
        return Roberta(self, unroll=unroll, remat=remat, dtype=dtype)

    def save_huggingface(self, folder: Path, params: Any, about: Mapping[str, Any]) -> None:
        """See `Exported`."""
        from barrow.models.save import save_described

        save_described(folder, self.module(), params, about)


BASE = RobertaConfig()
DISTIL = RobertaConfig(layers=6)
LARGE = RobertaConfig(width=1024, layers=24, heads=16, hidden=4096)
SIZES: Mapping[str, RobertaConfig] = {
    "distilroberta-base": DISTIL,
    "roberta-base": BASE,
    "roberta-large": LARGE,
}


@dataclass(frozen=True)
class Roberta(Module):
    """Tokens to hidden states [batch, length, width]; `logits` makes those of the vocabulary.

    How it is run (layers unrolled or scanned, what is recomputed, which attention) is not part of
    the architecture: parameters fit every choice. `dtype` is the type of activations. In the
    collection `intermediates` it returns hidden state 0 as `embedded`, those after the layers as
    `layers/hidden` [layers, batch, length, width], and the maps as `layers/attention/weights`
    [layers, batch, heads, length, length]; they cost nothing unless requested.
    """

    config: RobertaConfig
    unroll: bool = False
    remat: Policy | None = None
    backend: Backend = "auto"
    dtype: str = "float32"

    def forward(
        self,
        scope: Scope,
        tokens: jax.Array,
        *,
        lengths: jax.Array | None = None,
        mask: jax.Array | None = None,
        token_types: jax.Array | None = None,
        positions: jax.Array | None = None,
        segments: jax.Array | None = None,
    ) -> jax.Array:
        """The last hidden states of tokens [batch, length].

        `lengths` [batch] is how many tokens of each row, from the left, are real: best for fused
        attention. `mask` [batch, length] marks them at any position; `segments` [batch, length]
        mask documents in a row from each other. Outputs at padding are undefined. `positions`
        [batch or 1, length] are by default counted over tokens that are not padding, from `pad` + 1
        on (`full_positions` is faster for rows without any).
        """
        if mask is not None and (lengths is not None or segments is not None):
            raise ValueError("pass a mask, or lengths and segments, not both")
        x = self.embedded(scope, tokens, token_types=token_types, positions=positions)
        layers = Repeat(self._block(), self.config.layers, unroll=self.unroll, remat=self.remat)
        # Padding attends only to padding.
        segments = mask.astype(jnp.int32) if mask is not None else segments
        context = {"segments": segments, "lengths": lengths}
        y: tuple[jax.Array, Any] = layers(scope / "layers", x, None, context)
        x = y[0]
        if scope.trace.is_describing:
            # Described with the rest, so that `init` makes what only these methods use.
            if self.config.mlm_head:
                self.logits(scope, x)
            if self.config.pooler:
                self.pooled(scope, x)
        return x

    def embedded(
        self,
        scope: Scope,
        tokens: jax.Array,
        *,
        token_types: jax.Array | None = None,
        positions: jax.Array | None = None,
    ) -> jax.Array:
        """Hidden state 0: words, positions and token types, summed and normed."""
        config, dtype = self.config, jnp.dtype(self.dtype)
        self._refuse_too_long(tokens, positions)
        if token_types is None:
            token_types = jnp.zeros((1, 1), jnp.int32)
        self._refuse_unknown_types(token_types)
        if positions is None:
            positions = padded_positions(tokens, config.pad)
        x = self._table()(scope / "embed", tokens).astype(dtype)
        x = x + self._rows("positions", config.positions)(scope / "positions", positions).astype(
            dtype
        )
        x = x + self._rows("types", config.token_types)(scope / "types", token_types).astype(dtype)
        x = LayerNorm(eps=config.norm_eps)(scope / "norm", x)
        x = Dropout(config.dropout)(scope / "dropout", x)
        scope.capture("embedded", x)
        return scope.constrain(x, "batch", "length", "embed")

    def masked_logits(
        self, scope: Scope, tokens: jax.Array, at: jax.Array, **inputs: Any
    ) -> jax.Array:
        """Logits [batch, num, vocab] at the positions `at` [batch, num] only, from tokens."""
        return self.logits(scope, self(scope, tokens, **inputs), at)

    def logits(self, scope: Scope, hidden: jax.Array, at: jax.Array | None = None) -> jax.Array:
        """Logits of hidden states; with `at` [batch, num] only at those positions."""
        states = self.head_states(scope, hidden, at)
        if self.config.tied:
            y = self._table().attend(scope.again("embed"), states)
        else:
            y = Dense(
                self.config.vocab_size,
                bias=False,
                axes=("embed", "vocab"),
                weight_init=normal(self.config.init_std),
            )(scope / "lm_head" / "decoder", states)
        bias = (scope / "lm_head").param("bias", (self.config.vocab_size,), zeros, ("vocab",))
        return scope.constrain(y + bias.astype(y.dtype), "batch", "length", "vocab")

    def head_states(
        self, scope: Scope, hidden: jax.Array, at: jax.Array | None = None
    ) -> jax.Array:
        """The inputs of the last product (see `head_weight`): norm(act(hidden·W + b)).

        With `at` [batch, num] hidden states are gathered first, so other positions cost nothing.
        """
        if at is not None:
            hidden = jnp.take_along_axis(hidden, at[..., None], axis=1)
        dense = Dense(
            self.config.width, axes=("embed", "mlp"), weight_init=normal(self.config.init_std)
        )
        # RoBERTa uses gelu here, whatever the layers use.
        y = activation("gelu")(dense(scope / "lm_head" / "dense", hidden))
        return LayerNorm(eps=self.config.norm_eps)(scope / "lm_head" / "norm", y)  # type: ignore[no-any-return]

    def pooled(self, scope: Scope, hidden: jax.Array) -> jax.Array:
        """tanh(first·W + b) [batch, width], where the model has a pooler."""
        if not self.config.pooler:
            raise ValueError("the model has no pooler; use the first hidden state, or a mean")
        dense = Dense(
            self.config.width, axes=("embed", "mlp"), weight_init=normal(self.config.init_std)
        )
        return jnp.tanh(dense(scope / "pooler", hidden[:, 0]))

    def _table(self) -> Embed:
        return self._rows("vocab", self.config.vocab_size)

    def _rows(self, axis: str, num: int) -> Embed:
        init = normal(self.config.init_std)
        return Embed(num, self.config.width, axes=(axis, "embed"), weight_init=init)

    def _block(self) -> Block:
        config, init = self.config, normal(self.config.init_std)
        attention = MultiHead(config.heads, backend=self.backend, weight_init=init, out_init=init)
        mlp = MLP(config.hidden, activation=config.activation, weight_init=init, out_init=init)
        return Block(attention, mlp, LayerNorm(eps=config.norm_eps), "post", config.dropout)

    def _refuse_too_long(self, tokens: jax.Array, positions: jax.Array | None) -> None:
        config, length = self.config, tokens.shape[1]
        if length > config.context and positions is None:
            raise ValueError(too_long(config, length))

    def _refuse_unknown_types(self, token_types: jax.Array) -> None:
        if isinstance(token_types, jax.core.Tracer):
            return
        known, num = np.asarray(token_types), self.config.token_types
        if known.size and (known.min() < 0 or known.max() >= num):
            wrong = known[(known < 0) | (known >= num)][0]
            raise ValueError(
                f"token type {wrong}, but the model has {num} (0 to {num - 1}): RoBERTa "
                "separates two texts by </s></s>, not by types; leave out token_types"
            )


def too_long(config: RobertaConfig, length: int, *, how: str = "truncate=True, --truncate") -> str:
    """The error for a row with more tokens than positions."""
    return (
        f"{length} tokens, but the model takes {config.context} (its {config.positions} "
        f"positions start after the padding id {config.pad}). Shorten the text, or "
        f"truncate it ({how})"
    )


def padded_positions(tokens: jax.Array, pad: int) -> jax.Array:
    """Counted from `pad` + 1 for tokens that are not padding, and `pad` for those that are."""
    real = (tokens != pad).astype(jnp.int32)
    return jnp.cumsum(real, axis=1) * real + pad


def full_positions(config: RobertaConfig, length: int) -> jax.Array:
    """Positions [1, length] of rows without padding: one row for all, and no scatter in the
    gradient.
    """
    return jnp.arange(length)[None] + config.pad + 1


def head_weight(config: RobertaConfig, params: Mapping[str, Any]) -> tuple[Any, Any, bool]:
    """Weight and bias that make logits of `head_states`; whether the weight is [vocab, width]."""
    bias = params["lm_head"]["bias"]
    if config.tied:
        return as_array(params["embed"]["table"]), bias, True
    return as_array(params["lm_head"]["decoder"]["kernel"]), bias, False
