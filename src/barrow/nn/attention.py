"""Attention as one function of queries, keys and values, with a chosen backend.

softmax(q·kᵀ·scale) · v for each query over the keys it may see, the softmax in float32. Heads are
a dimension of their own: q is [batch, queries, heads, head_dim], k and v are [batch, keys,
kv_heads, head_dim]; each key head serves heads / kv_heads query heads (1 is multi-query).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

Backend = Literal["auto", "xla", "cudnn"]


@dataclass(frozen=True)
class Visible:
    """Which keys a query sees; what is None restricts nothing.

    causal: no key later than the query. starts [batch]: the place of each row's first query among
    the keys, 0 unless there is a cache. lengths [batch]: only so many keys of each row are there.
    segments: ids of queries [batch, queries] and of keys [batch, keys]; a query sees its own
    segment.
    """

    causal: bool = False
    starts: jax.Array | None = None
    lengths: jax.Array | None = None
    segments: tuple[jax.Array, jax.Array] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether nothing but causality restricts."""
        return self.starts is None and self.lengths is None and self.segments is None

    def mask(self, num_queries: int, num_keys: int) -> jax.Array | None:
        """Booleans [batch or 1, 1, queries, keys]; None where everything is seen."""
        parts = []
        if self.causal:
            places = jnp.arange(num_queries)[:, None]
            if self.starts is not None:
                places = self.starts[:, None, None, None] + places
            parts.append(jnp.arange(num_keys) <= places)
        if self.lengths is not None:
            parts.append(jnp.arange(num_keys) < self.lengths[:, None, None, None])
        if self.segments is not None:
            queries, keys = self.segments
            parts.append((queries[:, :, None] == keys[:, None, :])[:, None])
        if not parts:
            return None
        seen = parts[0]
        for part in parts[1:]:
            seen = seen & part
        return seen.reshape(*(1,) * (4 - seen.ndim), *seen.shape)


ALL = Visible()
CAUSAL = Visible(causal=True)


def attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    visible: Visible = ALL,
    *,
    scale: float | None = None,
    backend: Backend = "auto",
) -> jax.Array:
    """Attention of q over k and v, in q's shape and type. A query that sees no key gets zeros.

    "cudnn" is the fused kernel of NVIDIA GPUs for bfloat16 and float16; "auto" takes it where it
    can be had; "xla" is plain matrix products and runs everywhere.
    """
    _refuse_other_shapes(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    chosen = _fused_or_plain(q) if backend == "auto" else backend
    if chosen == "cudnn":
        return _cudnn(q, k, v, visible, scale)
    return _mixed(attention_weights(q, k, visible, scale=scale), v)


def attention_weights(
    q: jax.Array, k: jax.Array, visible: Visible = ALL, *, scale: float | None = None
) -> jax.Array:
    """The shares with which each query reads the keys: [batch, heads, queries, keys], float32."""
    batch, num_queries, num_heads, dim = q.shape
    num_keys, kv_heads = k.shape[1:3]
    scale = 1 / math.sqrt(dim) if scale is None else scale
    grouped = q.reshape(batch, num_queries, kv_heads, num_heads // kv_heads, dim)
    scores = scale * jnp.einsum("bqkgd,bskd->bkgqs", grouped, k, preferred_element_type=jnp.float32)
    scores = scores.reshape(batch, num_heads, num_queries, num_keys)
    mask = visible.mask(num_queries, num_keys)
    if mask is None:
        return jax.nn.softmax(scores, axis=-1)
    # Finite, so that a query that sees nothing has no NaN in its gradient.
    weights = jax.nn.softmax(jnp.where(mask, scores, jnp.finfo(jnp.float32).min), axis=-1)
    return jnp.where(mask, weights, 0.0)


def _mixed(weights: jax.Array, v: jax.Array) -> jax.Array:
    batch, num_heads, num_queries, num_keys = weights.shape
    kv_heads, dim = v.shape[2:]
    grouped = weights.reshape(batch, kv_heads, num_heads // kv_heads, num_queries, num_keys)
    out = jnp.einsum(
        "bkgqs,bskd->bqkgd", grouped.astype(v.dtype), v, preferred_element_type=jnp.float32
    )
    return out.reshape(batch, num_queries, num_heads, dim).astype(v.dtype)


def _cudnn(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    mask = None if visible.is_plain else visible.mask(q.shape[1], k.shape[1])
    # With a mask of ours, causality is in it already.
    out = jax.nn.dot_product_attention(
        q,
        k,
        v,
        mask=mask,
        scale=scale,
        is_causal=visible.causal and visible.is_plain,
        implementation="cudnn",
    )
    if mask is None:
        return out
    # The kernel adds a large negative number: a query that sees nothing would get a mean of all.
    sees = jnp.any(mask, axis=-1)[:, 0, :, None, None]
    return jnp.where(sees, out, jnp.zeros_like(out))


def _fused_or_plain(q: jax.Array) -> Backend:
    """The fused kernel for long queries; a few of them (decoding) are quicker without."""
    fits = q.dtype in (jnp.bfloat16, jnp.float16) and q.shape[-1] % 8 == 0 and q.shape[-1] <= 128
    long = q.shape[1] >= 32  # the 50 places of CLIP's ViT-B/32 among them
    return "cudnn" if fits and long and jax.default_backend() == "gpu" else "xla"


def _refuse_other_shapes(q: jax.Array, k: jax.Array, v: jax.Array) -> None:
    if q.ndim != 4 or k.ndim != 4 or k.shape != v.shape:
        raise ValueError(
            "attention takes q [batch, queries, heads, head_dim] and k, v [batch, keys, kv_heads, "
            f"head_dim], not {q.shape}, {k.shape} and {v.shape}"
        )
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3] or q.shape[2] % k.shape[2]:
        raise ValueError(
            f"q {q.shape} and k {k.shape} must agree in batch and head_dim, and the heads of k "
            "divide those of q"
        )
