"""A causal transformer: GPT-2, GPT-NeoX (Pythia), Llama and Mixtral are settings of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp

from barrow.models.family import CausalModule
from barrow.nn.attention.attention import Backend
from barrow.nn.attention.cache import Cache, KeyValues
from barrow.nn.attention.multi_head import MultiHead, QKNorm
from barrow.nn.attention.paged import Paged
from barrow.nn.attention.rotary import Rotary
from barrow.nn.attention.visible import Sparse
from barrow.nn.dot import as_array
from barrow.nn.initialisers import normal
from barrow.nn.layers.block import Block
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.dropout import Dropout
from barrow.nn.layers.embed import Embed
from barrow.nn.layers.experts import Experts, Routing
from barrow.nn.layers.mlp import MLP
from barrow.nn.layers.norms import LayerNorm, RMSNorm
from barrow.nn.layers.remat import Policy
from barrow.nn.layers.repeat import Repeat
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class DecoderConfig:
    """The architecture, as numbers and choices. Defaults are GPT-2's of 124 million parameters.

    - `vocab_size`: ids; the data decide it; `width`: of hidden states; `layers`: how many.
    - `heads`: of attention; `kv_heads`: of keys and values, None for as many; `head_dim`: None for
      width / heads; `hidden`: width inside the MLP; `context`: positions.
    - `norm`: layer or rms; `norm_eps`: added to the variance; `norms`: before attention and MLP,
      after them, or before both in parallel (see `nn.Block`).
    - `activation`: of the MLP; `gated`: SwiGLU and similar; `rotary`: None for learned positions.
    - `attention_bias`, `out_bias`, `mlp_bias`: which layers have biases.
    - `qk_norm`: queries and keys are normed, each head or all together (see `nn.MultiHead`).
    - `experts`: each MLP is so many of them, and tokens choose (see `nn.Routing`); None for one.
    - `window`: attention sees only so many tokens; `sparse`: only some blocks (see `nn.Sparse`).
    - `tied`: the table of embeddings makes the logits too; `dropout`: of hidden states.
    - `init_std`: standard deviation of the first weights.
    """

    vocab_size: int = 50257
    width: int = 768
    layers: int = 12
    heads: int = 12
    kv_heads: int | None = None
    head_dim: int | None = None
    hidden: int = 3072
    context: int = 1024
    norm: Literal["layer", "rms"] = "layer"
    norm_eps: float = 1e-5
    norms: Literal["pre", "after", "parallel"] = "pre"
    activation: str = "gelu_new"
    gated: bool = False
    rotary: Rotary | None = None
    attention_bias: bool = True
    out_bias: bool = True
    mlp_bias: bool = True
    window: int | None = None
    sparse: Sparse | None = None
    qk_norm: QKNorm | None = None
    experts: Routing | None = None
    tied: bool = True
    dropout: float = 0.0
    init_std: float = 0.02

    objective = "barrow.train.tasks.causal:CausalTask"
    scoring = "barrow.score:causal_model"
    usage = 'barrow generate {run} --prompt "The" --temperature 0.8'

    def __post_init__(self) -> None:
        for name in ("vocab_size", "width", "layers", "heads", "hidden", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be ≥ 1, got {getattr(self, name)}")
        if self.head_dim is None and self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")
        if self.window is not None and self.window < 1:
            raise ValueError(f"window must be ≥ 1, got {self.window}; null sees all")
        if self.heads % self.num_kv_heads:
            raise ValueError(f"{self.num_kv_heads} key heads do not divide {self.heads} heads")
        if self.experts is not None and self.mlp_bias:
            raise ValueError("experts have no biases: set mlp_bias=false")

    @property
    def num_kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def size_of_head(self) -> int:
        """Numbers in a head."""
        return self.width // self.heads if self.head_dim is None else self.head_dim

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return (jax.ShapeDtypeStruct((1, 1), jnp.int32),)

    def flops(self, num_params: int, length: int) -> float:
        """6N + 12·L·d·T: forward and backward of one token in a row of `length`.

        N are the parameters that compute it.
        """
        width = self.heads * self.size_of_head
        return 6.0 * self.num_active(num_params) + 12.0 * self.layers * width * length

    def num_active(self, num_params: int) -> int:
        """Of all parameters, those that compute one token: without the other experts."""
        if self.experts is None:
            return num_params
        idle = self.layers * (self.experts.count - self.experts.top_k)
        return num_params - idle * (3 if self.gated else 2) * self.width * self.hidden

    def module(
        self, *, unroll: bool = False, remat: Policy | None = None, dtype: str = "float32"
    ) -> Decoder:
        """See `Family`."""
        return Decoder(self, unroll=unroll, remat=remat, dtype=dtype)

    def save_huggingface(self, folder: Path, params: Any, about: Mapping[str, Any]) -> None:
        """See `Exported`."""
        from barrow.models.save import save_described

        save_described(folder, self.module(), params, about)


@dataclass(frozen=True)
class Decoder(CausalModule):
    """Tokens to the logits of the next token.

    How it is run (layers unrolled or scanned, what is recomputed, which attention) is not part of
    the architecture: parameters fit every choice. `dtype` is the type of activations; weights are
    cast to it when used.
    """

    config: DecoderConfig
    unroll: bool = False
    remat: Policy | None = None
    backend: Backend = "auto"
    dtype: str = "float32"

    def forward(
        self,
        scope: Scope,
        tokens: jax.Array,
        *,
        positions: jax.Array | None = None,
        segments: jax.Array | None = None,
        lengths: jax.Array | None = None,
        caches: Sequence[KeyValues | Paged] | None = None,
        at: jax.Array | None = None,
    ) -> tuple[jax.Array, tuple[Any, ...]]:
        """Logits [batch, length, vocab] of tokens [batch, length], and the caches of the layers.

        `positions` are 0, 1, 2… (after a cache: from its length on) unless given; `segments` mask
        documents in a row from each other; `lengths` [batch] is how many tokens of each row are
        real. With `at` [batch] or [batch, places] only the logits of these places in each row are
        computed, [batch, places, vocab].
        """
        x, caches = self.hidden(
            scope,
            tokens,
            positions=positions,
            segments=segments,
            lengths=lengths,
            caches=caches,
        )
        if at is not None:
            x = jnp.take_along_axis(x, at.reshape(len(x), -1, 1), axis=1)
        return self.logits(scope, x), caches

    def hidden(
        self,
        scope: Scope,
        tokens: jax.Array,
        *,
        positions: jax.Array | None = None,
        segments: jax.Array | None = None,
        lengths: jax.Array | None = None,
        caches: Sequence[KeyValues | Paged] | None = None,
    ) -> tuple[jax.Array, tuple[Any, ...]]:
        """The last hidden states [batch, length, width], normed: what the logits are made of."""
        config = self.config
        length = tokens.shape[1]
        _refuse_too_long(length, config.context, positions, caches)
        if positions is None:
            # One row for all: no batch of sines and cosines, and no scatter in the gradient.
            positions = jnp.arange(length)[None]
            positions = positions if caches is None else positions + caches[0].lengths[:, None]
        dtype = jnp.dtype(self.dtype)
        x = self._table()(scope / "embed", tokens).astype(dtype)
        if config.rotary is None:
            places = Embed(
                config.context,
                config.width,
                axes=("positions", "embed"),
                weight_init=normal(config.init_std),
            )
            x = x + places(scope / "positions", positions).astype(dtype)
        x = Dropout(config.dropout)(scope / "dropout", x)
        x = scope.constrain(x, "batch", "length", "embed")
        layers = Repeat(self._block(), config.layers, unroll=self.unroll, remat=self.remat)
        context = {"positions": positions, "segments": segments, "lengths": lengths}
        real = None if config.experts is None else _real(length, segments, lengths)
        x, after = layers(scope / "layers", x, caches, context, real)
        return self._norm()(scope / "norm", x), after

    def logits(self, scope: Scope, hidden: jax.Array) -> jax.Array:
        """Logits [..., vocab] of hidden states."""
        config = self.config
        if config.tied:
            y = self._table().attend(scope.again("embed"), hidden)
        else:
            head = Dense(
                config.vocab_size,
                bias=False,
                axes=("embed", "vocab"),
                weight_init=normal(config.init_std),
            )
            y = head(scope / "head", hidden)
        return scope.constrain(y, "batch", "length", "vocab")

    def _table(self) -> Embed:
        return Embed(
            self.config.vocab_size,
            self.config.width,
            axes=("vocab", "embed"),
            weight_init=normal(self.config.init_std),
        )

    def _norm(self) -> Module:
        eps = self.config.norm_eps
        return RMSNorm(eps=eps) if self.config.norm == "rms" else LayerNorm(eps=eps)

    def head_weight(self, params: Mapping[str, Any]) -> tuple[Any, bool]:
        """The weight that makes logits of hidden states; and whether it is [vocab, width]."""
        tied = self.config.tied
        weight = params["embed"]["table"] if tied else params["head"]["kernel"]
        return as_array(weight), tied

    def _block(self) -> Block:
        config = self.config
        init = normal(config.init_std)
        # GPT-2's rule: what is added to the residual 2·layers times starts smaller by its root.
        out_init = normal(config.init_std / (2 * config.layers) ** 0.5)
        attention = MultiHead(
            config.heads,
            kv_heads=config.kv_heads,
            head_dim=config.head_dim,
            causal=True,
            window=config.window,
            sparse=config.sparse,
            rotary=config.rotary,
            bias=config.attention_bias,
            out_bias=config.out_bias,
            qk_norm=config.qk_norm,
            norm_eps=config.norm_eps,
            backend=self.backend,
            weight_init=init,
            out_init=out_init,
        )
        mlp: Module = MLP(
            config.hidden,
            activation=config.activation,
            gated=config.gated,
            bias=config.mlp_bias,
            weight_init=init,
            out_init=out_init,
        )
        if config.experts is not None:
            mlp = Experts(
                config.experts,
                config.hidden,
                activation=config.activation,
                gated=config.gated,
                weight_init=init,
                out_init=out_init,
            )
        return Block(attention, mlp, self._norm(), config.norms, config.dropout)


def empty_caches(config: DecoderConfig, batch: int, capacity: int, dtype: Any) -> tuple[Cache, ...]:
    """A cache for each layer, with room for `capacity` positions in each of `batch` rows."""
    if capacity > config.context:
        raise ValueError(
            f"capacity must be at most the model's {config.context} positions, got {capacity}"
        )
    heads, dim = config.num_kv_heads, config.size_of_head
    return tuple(Cache.empty(batch, capacity, heads, dim, dtype) for _ in range(config.layers))


def _real(length: int, segments: jax.Array | None, lengths: jax.Array | None) -> jax.Array | None:
    """Where tokens are not padding; None where all are real."""
    if segments is not None:
        return segments > 0
    return None if lengths is None else jnp.arange(length) < lengths[:, None]


def _refuse_too_long(
    length: int,
    context: int,
    positions: jax.Array | None,
    caches: Sequence[KeyValues | Paged] | None,
) -> None:
    if length > context and positions is None and caches is None:
        raise ValueError(
            f"{length} tokens, but the model has {context} positions: cut the text into windows"
        )
