"""Attention as one function of queries, keys and values, with a chosen backend.

softmax(q·kᵀ·scale) · v for each query over the keys it may see, the softmax in float32. q is
[batch, queries, heads, head_dim], k and v are [batch, keys, kv_heads, head_dim]; each key head
serves heads / kv_heads query heads (one key head is multi-query attention).
"""

from __future__ import annotations

import itertools
import math
import os
import re
from dataclasses import dataclass, replace
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType

Backend = Literal["auto", "xla", "cudnn", "short", "rows", "mapped"]


@dataclass(frozen=True)
class Visible:
    """Which keys a query sees; a field that is None does not restrict them.

    causal: no key later than the query. starts [batch]: the position of each row's first query
    among the keys, 0 without a cache. lengths [batch]: the number of keys of each row. segments:
    ids of queries [batch, queries] and of keys [batch, keys]; a query sees its own segment.
    """

    causal: bool = False
    starts: jax.Array | None = None
    lengths: jax.Array | None = None
    segments: tuple[jax.Array, jax.Array] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether causality is the only mask."""
        return self.starts is None and self.lengths is None and self.segments is None

    @property
    def is_never_empty(self) -> bool:
        """Whether every query sees a key, at least its own."""
        return self.causal and self.lengths is None

    @property
    def is_padding(self) -> bool:
        """Whether the lengths of rows are the only mask."""
        others = self.causal or self.starts is not None or self.segments is not None
        return self.lengths is not None and not others

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

    "cudnn" is the fused kernel of NVIDIA GPUs for bfloat16 and float16, "short" ours for rows of
    at most 128 places; "auto" chooses one of them where available; "xla" is plain matrix products
    and runs everywhere. "rows" computes one row of the batch after another: on CPUs scores then
    stay in the cache, and inference is up to three times faster. "mapped" is for programs that
    `jax.vmap` maps over models: it chooses between "cudnn" and "xla".
    """
    _refuse_other_shapes(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    chosen = _best(q, k, visible) if backend in ("auto", "mapped") else backend
    if backend == "mapped" and chosen != "xla":
        return _cudnn(q, k, v, visible, scale, heads_of_mask=q.shape[2])
    if chosen == "cudnn":
        return _cudnn(q, k, v, visible, scale)
    if chosen == "short":
        return _short(q, k, v, visible, scale)
    if chosen == "rows":
        return _by_rows(q, k, v, visible, scale)
    return _plain(q, k, v, visible, scale)


def attention_weights(
    q: jax.Array, k: jax.Array, visible: Visible = ALL, *, scale: float | None = None
) -> jax.Array:
    """Attention weights [batch, heads, queries, keys], float32."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    powers, total = _powers(q, k, visible, scale)
    return powers / total


def _plain(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    """Values are summed first and divided afterwards: there are fewer results than weights."""
    powers, total = _powers(q, k, visible, scale)
    batch, num_heads, num_queries, num_keys = powers.shape
    kv_heads, dim = v.shape[2:]
    grouped = powers.reshape(batch, kv_heads, num_heads // kv_heads, num_queries, num_keys)
    out = jnp.einsum(
        "bkgqs,bskd->bqkgd", grouped.astype(v.dtype), v, preferred_element_type=jnp.float32
    )
    out = out.reshape(batch, num_queries, num_heads, dim) / jnp.swapaxes(total, 1, 2)
    return out.astype(v.dtype)


def _powers(
    q: jax.Array, k: jax.Array, visible: Visible, scale: float
) -> tuple[jax.Array, jax.Array]:
    """exp(score − the query's highest) [batch, heads, queries, keys], and its sum over the keys."""
    batch, num_queries, num_heads, dim = q.shape
    num_keys, kv_heads = k.shape[1:3]
    grouped = q.reshape(batch, num_queries, kv_heads, num_heads // kv_heads, dim)
    scores = scale * jnp.einsum("bqkgd,bskd->bkgqs", grouped, k, preferred_element_type=jnp.float32)
    scores = scores.reshape(batch, num_heads, num_queries, num_keys)
    mask = visible.mask(num_queries, num_keys)
    if mask is not None:
        # Finite, so that a query that sees nothing has no NaN in its gradient.
        scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    powers = jnp.exp(scores - lax.stop_gradient(scores.max(axis=-1, keepdims=True)))
    if mask is None or visible.is_never_empty:
        return powers, powers.sum(axis=-1, keepdims=True)
    powers = jnp.where(mask, powers, 0.0)
    total = powers.sum(axis=-1, keepdims=True)
    return powers, jnp.where(total == 0, 1.0, total)


def _by_rows(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    """Divided by the sum at the end: head_dim divisions per query, not one per key."""
    num_queries, num_heads, dim = q.shape[1:]
    num_keys, kv_heads = k.shape[1:3]
    mask = visible.mask(num_queries, num_keys)

    def one(row: tuple[jax.Array, ...]) -> jax.Array:
        q, k, v, *seen = row
        # Scaled before the product: there are fewer queries than scores.
        grouped = (q * scale).reshape(num_queries, kv_heads, num_heads // kv_heads, dim)
        grouped, k, v = grouped.transpose(1, 2, 0, 3), k.swapaxes(0, 1), v.swapaxes(0, 1)
        scores = jnp.einsum("kgqd,ksd->kgqs", grouped, k, preferred_element_type=jnp.float32)
        if seen:
            scores = jnp.where(seen[0][None], scores, jnp.finfo(jnp.float32).min)
        weights = jnp.exp(scores - lax.stop_gradient(scores.max(-1, keepdims=True)))
        if seen:
            weights = jnp.where(seen[0][None], weights, 0.0)
        out = jnp.einsum(
            "kgqs,ksd->kgqd", weights.astype(v.dtype), v, preferred_element_type=jnp.float32
        )
        out = out / jnp.maximum(weights.sum(-1), jnp.finfo(jnp.float32).tiny)[..., None]
        return out.transpose(2, 0, 1, 3).reshape(num_queries, num_heads, dim).astype(v.dtype)

    rows: tuple[jax.Array, ...] = (q, k, v)
    if mask is not None:
        rows = (*rows, jnp.broadcast_to(mask, (q.shape[0], *mask.shape[1:])))
    out: jax.Array = lax.map(one, rows)
    return out


def evened(
    q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible
) -> tuple[jax.Array, jax.Array, jax.Array, Visible]:
    """Pads queries and keys to even numbers; an added key is not seen."""

    def filled(x: jax.Array, value: float = 0) -> jax.Array:
        widths = [(0, 0), (0, x.shape[1] % 2), *[(0, 0)] * (x.ndim - 2)]
        return jnp.pad(x, widths, constant_values=value)

    batch, num_keys = k.shape[:2]
    lengths, segments = visible.lengths, visible.segments
    # Causality already hides a last key from all queries before it.
    hidden = visible.causal and visible.starts is None and q.shape[1] == num_keys
    if lengths is None and num_keys % 2 and not hidden:
        lengths = jnp.full((batch,), num_keys, jnp.int32)
    if segments is not None:
        segments = filled(segments[0], -1), filled(segments[1], -1)
    seen = replace(visible, lengths=lengths, segments=segments)
    return filled(q), filled(k), filled(v), seen


def _cudnn(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    visible: Visible,
    scale: float,
    *,
    heads_of_mask: int = 1,
) -> jax.Array:
    """JAX can map the kernel over models only if a mask has all heads."""
    num_queries = q.shape[1]
    if num_queries % 2 or k.shape[1] % 2:
        # The kernel's backward pass takes even lengths only.
        padded = _cudnn(*evened(q, k, v, visible), scale, heads_of_mask=heads_of_mask)
        return padded[:, :num_queries]
    if visible.is_padding:
        return _cudnn_padded(q, k, v, visible, scale)
    mask = None if visible.is_plain else visible.mask(q.shape[1], k.shape[1])
    if mask is not None and heads_of_mask > 1:
        mask = jnp.broadcast_to(mask, (q.shape[0], heads_of_mask, *mask.shape[2:]))
    # An explicit mask already contains causality.
    out = jax.nn.dot_product_attention(
        q,
        k,
        v,
        mask=mask,
        scale=distinct_scale(scale),
        is_causal=visible.causal and visible.is_plain,
        implementation="cudnn",
    )
    if mask is None:
        return out
    # The kernel adds a large negative number: a query that sees no key would get the mean of all.
    sees = jnp.any(mask, axis=-1)[:, 0, :, None, None]
    return jnp.where(sees, out, jnp.zeros_like(out))


def _cudnn_padded(
    q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float
) -> jax.Array:
    """The kernel takes lengths: no mask of queries × keys is needed."""
    assert visible.lengths is not None
    lengths = visible.lengths.astype(jnp.int32)
    out = jax.nn.dot_product_attention(
        q,
        k,
        v,
        scale=distinct_scale(scale),
        # A row without keys would be 0/0 in the kernel: it reads one key, and is set to 0 below.
        key_value_seq_lengths=jnp.maximum(lengths, 1),
        implementation="cudnn",
    )
    return jnp.where((lengths > 0)[:, None, None, None], out, jnp.zeros_like(out))


def _short(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    # Imported here: it needs a GPU and its compiler.
    from barrow.nn.attention.short_attention import short_attention

    if not _is_short(q, k, visible):
        raise ValueError(
            "short attention needs up to 128 positions, heads of 16, 32, 64 or 128, as "
            f"many key as query heads, and no starts or segments; got q {q.shape}, k "
            f"{k.shape}"
        )
    lengths = visible.lengths
    if lengths is None:
        lengths = jnp.full((q.shape[0],), k.shape[1], jnp.int32)
    out: jax.Array = short_attention(q, k, v, lengths, causal=visible.causal, scale=scale)
    return out


def _is_short(q: jax.Array, k: jax.Array, visible: Visible) -> bool:
    places, dim = max(q.shape[1], k.shape[1]), q.shape[3]
    fits = places <= 128 and dim in (16, 32, 64, 128) and q.shape[2] == k.shape[2]
    return fits and visible.starts is None and visible.segments is None


def _best(q: jax.Array, k: jax.Array, visible: Visible) -> Backend:
    """A fused kernel for many queries; a few (decoding) are faster without."""
    fits = q.dtype in (jnp.bfloat16, jnp.float16) and q.shape[-1] % 8 == 0 and q.shape[-1] <= 128
    if not fits or q.shape[1] < 32 or 0 in (q.size, k.size) or not _has_fused_kernels():
        return "xla"
    return "short" if _is_short(q, k, visible) and _takes_pallas(q) else "cudnn"


def _has_fused_kernels() -> bool:
    """NVIDIA's, from Ampere on; AMD's are GPUs to JAX too, with names such as gfx942."""
    if jax.default_backend() != "gpu":
        return False
    generation = str(jax.local_devices()[0].compute_capability).partition(".")[0]
    return generation.isdecimal() and int(generation) >= 8


def _takes_pallas(q: jax.Array) -> bool:
    """Whether this JAX has Pallas for GPUs, with automatic sharding.

    Pallas refuses explicit meshes, and `shard_map` unless its checks are off.
    """
    if any(kind != AxisType.Auto for kind in jax.typeof(q).sharding.mesh.axis_types):
        return False
    try:
        import barrow.nn.attention.short_attention  # noqa: F401
    except ImportError:
        return False
    return True


def _refuse_other_shapes(q: jax.Array, k: jax.Array, v: jax.Array) -> None:
    if q.ndim != 4 or k.ndim != 4 or k.shape != v.shape:
        raise ValueError(
            "attention needs q [batch, queries, heads, head_dim] and k, v [batch, keys, "
            f"kv_heads, head_dim], got {q.shape}, {k.shape} and {v.shape}"
        )
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3] or q.shape[2] % k.shape[2]:
        raise ValueError(
            f"q {q.shape} and k {k.shape} must agree in batch and head_dim, and the heads of k "
            "divide those of q"
        )


_ASKED = re.compile(
    r"--xla_gpu_(?:deterministic_ops|exclude_nondeterministic_ops)(?:=(?:true|1))?(?:\s|$)", re.I
)
_CALLS = itertools.count(1)


def distinct_scale(scale: float) -> float:
    """The scale; where XLA must be deterministic, a different number for each call.

    XLA marks a kernel's backward pass as deterministic only in the first of several equal calls,
    and has no program for the others (IndexError). Kernels compute in float32, in which all these
    numbers are equal.
    """
    if not _ASKED.search(os.environ.get("XLA_FLAGS", "")):
        return scale
    return float(np.float32(scale)) * (1 + next(_CALLS) % 2**12 * 2.0**-44)
