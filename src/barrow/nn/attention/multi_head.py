"""Multi-head attention with its projections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import jax
import jax.numpy as jnp

from barrow.nn.attention.attention import (
    Backend,
    attention,
    attention_weights,
    is_automatic,
)
from barrow.nn.attention.cache import KeyValues
from barrow.nn.attention.long_attention import around_a_ring
from barrow.nn.attention.paged import Paged
from barrow.nn.attention.rotary import Rotary
from barrow.nn.attention.short_attention import has_kernel, ids_of, short_attention
from barrow.nn.attention.visible import Sparse, Visible
from barrow.nn.dot import dot
from barrow.nn.hopper import is_hopper
from barrow.nn.initialisers import Initialiser, fan_in, zeros
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.norms import RMSNorm
from barrow.nn.layers.remat import ATTENTION, HEADS, named
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Constrain

QKNorm = Literal["head", "all"]


@dataclass(frozen=True)
class MultiHead(Module):
    """Projections of x, attention, and the output projection: softmax(QKᵀ·scale)V·O.

    `kv_heads` fewer than `heads` is grouped-query attention, 1 is multi-query. `head_dim` None
    divides x's width among the heads. `window` and `sparse` restrict what is seen (see `Visible`).
    `qk_norm` is an RMS norm of queries and keys before they are rotated: of each head (Qwen 3), or
    of all together (OLMo 2).
    """

    heads: int
    kv_heads: int | None = None
    head_dim: int | None = None
    causal: bool = False
    window: int | None = None
    sparse: Sparse | None = None
    rotary: Rotary | None = None
    bias: bool = True
    out_bias: bool = True
    qk_norm: QKNorm | None = None
    norm_eps: float = 1e-6
    scale: float | None = None
    backend: Backend = "auto"
    weight_init: Initialiser = fan_in()
    out_init: Initialiser = fan_in(num_in=2)

    def forward(
        self,
        scope: Scope,
        x: jax.Array,
        *,
        positions: jax.Array | None = None,
        segments: jax.Array | None = None,
        lengths: jax.Array | None = None,
        cache: KeyValues | Paged | None = None,
    ) -> tuple[jax.Array, KeyValues | Paged | None]:
        """Self-attention of x [batch, length, embed], and the updated cache.

        `positions` [batch, length] rotate rotary heads (0, 1, 2… by default); `segments` [batch,
        length] mask documents in a row from each other. `lengths` [batch] is the number of real
        places of each row; with a cache, the places follow those in it.
        """
        batch, length, embed = x.shape
        kv_heads = self.heads if self.kv_heads is None else self.kv_heads
        if self.heads % kv_heads:
            raise ValueError(f"{scope.name}: {kv_heads} key heads do not divide {self.heads} heads")
        if self.head_dim is None and embed % self.heads:
            raise ValueError(f"{scope.name}: {self.heads} heads do not divide a width of {embed}")
        dim = embed // self.heads if self.head_dim is None else self.head_dim

        out = Dense(
            embed,
            bias=self.out_bias,
            num_in=2,
            axes=("heads", "head_dim", "embed"),
            weight_init=self.out_init,
        )
        if cache is None and kv_heads == self.heads:
            visible = self._visible(lengths=lengths, segments=segments)
            if self._can_merge(scope, x, visible, dim):
                scale = dim**-0.5 if self.scale is None else self.scale
                qkv, bias = self._merged(scope, x, dim)
                ids = ids_of(qkv.shape, visible)
                y = short_attention((qkv,), ids, bias, causal=self.causal, scale=scale)
                return out(scope / "out", named(y, ATTENTION)), None

        def project(name: str, x: jax.Array) -> jax.Array:
            heads, axis = (self.heads, "heads") if name == "q" else (kv_heads, "kv_heads")
            dense = Dense(
                (heads, dim),
                bias=self.bias,
                axes=("embed", axis, "head_dim"),
                weight_init=self.weight_init,
            )
            y: jax.Array = dense(scope / name, x)
            y = scope.constrain(y, "batch", "length", axis, "head_dim")
            if self.qk_norm is not None and name != "v":
                axes = ("head_dim",) if self.qk_norm == "head" else (axis, "head_dim")
                y = RMSNorm(eps=self.norm_eps, axes=axes)(scope / f"{name}_norm", y)
            return y

        # On a GPU so ordered that XLA adds all three gradients of x within products: it tries only
        # the first term of a sum, and a product that adds a term cannot add another.
        apart, order = (_same(x), "kvq") if jax.default_backend() == "gpu" else (x, "qkv")
        made = {name: project(name, x if name == "q" else apart) for name in order}
        q, k, v = (made[name] for name in "qkv")
        starts = None if cache is None else cache.lengths
        if self.rotary is not None:
            if positions is None:
                positions = jnp.broadcast_to(jnp.arange(length), (batch, length))
                positions = positions if starts is None else positions + starts[:, None]
            q, k = self.rotary(q, positions), self.rotary(k, positions)
        if isinstance(cache, Paged):
            cache = cache.append(k, v)
            return out(scope / "out", cache.attend(q, scale=self.scale, window=self.window)), cache
        if cache is not None:
            num = jnp.full((batch,), length, jnp.int32) if lengths is None else lengths
            cache = cache.append(k, v, num)
            k, v = cache.view()
            lengths = cache.lengths
        visible = replace(self._visible(lengths=lengths, segments=segments), starts=starts)
        q, k, v = (named(x, HEADS) for x in (q, k, v))
        if scope.is_mutable("intermediates"):
            scope.capture("weights", attention_weights(q, k, visible, scale=self.scale))
        constrain = scope.trace.constrain
        is_divided = scope.divides("length")
        if is_divided and constrain is not None and _needs_ring(constrain, length, self.heads):
            scale = dim**-0.5 if self.scale is None else self.scale
            y = around_a_ring(constrain, q, k, v, visible, scale)
        else:
            # Where places are divided, each device gets whole rows of some heads.
            if is_divided and segments is not None:
                # A fused kernel takes no mask that is divided.
                rows = scope.constrain(segments, "batch", None)
                visible = replace(visible, segments=(rows, rows))
            q = scope.constrain(q, "batch", None, "attended_heads", "head_dim")
            k = scope.constrain(k, "batch", None, "attended_kv_heads", "head_dim")
            v = scope.constrain(v, "batch", None, "attended_kv_heads", "head_dim")
            is_mapped = self.backend == "auto" and getattr(constrain, "is_mapped", False)
            backend: Backend = "mapped" if is_mapped else self.backend
            y = attention(q, k, v, visible, scale=self.scale, backend=backend)
            y = scope.constrain(y, "batch", None, "attended_heads", "head_dim")
        y = named(scope.constrain(y, "batch", "length", "heads", "head_dim"), ATTENTION)
        return out(scope / "out", y), cache

    def _visible(self, *, lengths: jax.Array | None, segments: jax.Array | None) -> Visible:
        return Visible(
            causal=self.causal,
            lengths=lengths,
            segments=None if segments is None else (segments, segments),
            window=self.window,
            sparse=self.sparse,
        )

    def _can_merge(self, scope: Scope, x: jax.Array, visible: Visible, dim: int) -> bool:
        """Whether a kernel takes queries, keys and values as one product gives them."""
        is_plain = self.backend == "auto" and self.qk_norm is None and self.rotary is None
        asks = scope.trace.is_describing or scope.is_mutable("intermediates")
        is_mapped = getattr(scope.trace.constrain, "is_mapped", False)
        if not is_plain or asks or is_mapped or not is_hopper() or not is_automatic(x):
            return False
        shape = (*x.shape[:2], self.heads, dim)
        return x.shape[1] >= 32 and has_kernel(shape, shape[1], self.heads, x.dtype, visible)

    def _merged(self, scope: Scope, x: jax.Array, dim: int) -> tuple[jax.Array, jax.Array | None]:
        """Queries, keys and values [batch, length, 3, heads, head_dim], and what to add to them."""
        rows = x.reshape(-1, x.shape[-1])
        width = self.heads * dim
        kernels, biases = [], []
        for name, axis in (("q", "heads"), ("k", "kv_heads"), ("v", "kv_heads")):
            axes = ("embed", axis, "head_dim")
            shape = (x.shape[-1], self.heads, dim)
            kernels.append((scope / name).param("kernel", shape, self.weight_init, axes))
            if self.bias:
                bias = (scope / name).param("bias", shape[1:], zeros, axes[1:])
                biases.append(bias.astype(x.dtype))
        if all(isinstance(kernel, jax.Array) for kernel in kernels):
            y = dot(
                rows, jnp.concatenate([kernel.reshape(-1, width) for kernel in kernels], axis=1)
            )
        else:  # each has a product of its own
            y = jnp.concatenate(
                [dot(rows, kernel).reshape(-1, width) for kernel in kernels], axis=1
            )
        y = y.reshape(*x.shape[:2], 3, self.heads, dim)
        return y, jnp.stack(biases) if biases else None


def _needs_ring(constrain: Constrain, length: int, heads: int) -> bool:
    """Whether places are divided, and heads cannot be divided instead."""
    places = constrain.parts("length", length)
    return constrain.parts("attended_heads", heads) < places * constrain.parts("heads", heads)


@jax.custom_vjp
def _same(x: jax.Array) -> jax.Array:
    """X, whose gradient is summed up by itself before it is added to that of others."""
    return x


_same.defvjp(lambda x: (x, None), lambda _, g: (g,))
