"""Attention as one function of queries, keys and values, with a chosen backend.

softmax(q·kᵀ·scale) · v for each query over the keys it may see, the softmax in float32. q is
[batch, queries, heads, head_dim], k and v are [batch, keys, kv_heads, head_dim]; each key head
serves heads / kv_heads query heads (one key head is multi-query attention).
"""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp
from jax.sharding import AxisType

from barrow.nn.attention.fused_attention import cudnn, has_fused_kernels
from barrow.nn.attention.local_attention import in_blocks, pays_in_blocks
from barrow.nn.attention.long_attention import whole_rows
from barrow.nn.attention.plain_attention import by_rows, plain, powers_of
from barrow.nn.attention.short_attention import has_kernel, ids_of, short_attention
from barrow.nn.attention.visible import ALL, Visible

# Places of rows whose scores are not computed all at once.
_LONG = 4096
Backend = Literal["auto", "xla", "cudnn", "short", "rows", "long", "mapped"]


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
    at most 128 places on Hopper GPUs; "auto" chooses one of them where available; "xla" is plain
    matrix products and runs everywhere. "long" never has all scores at once; "auto" chooses it for
    rows of 4,096 places and more where there is no fused kernel. "rows" computes one row of the
    batch after another: on CPUs scores then stay in the cache, and inference is up to three times
    faster. "mapped" is for programs that `jax.vmap` maps over models: it chooses "cudnn" or "xla".
    """
    _refuse_other_shapes(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    chosen = _best(q, k, visible) if backend in ("auto", "mapped") else backend
    is_known = chosen == "cudnn" and visible.is_window_alone and q.shape[1] == k.shape[1]
    if visible.is_local and not is_known and pays_in_blocks(q, k, visible):
        return in_blocks(q, k, v, visible, scale)
    if backend == "mapped" and chosen in ("cudnn", "short"):
        return cudnn(q, k, v, visible, scale, heads_of_mask=q.shape[2])
    if chosen == "cudnn":
        return cudnn(q, k, v, visible, scale)
    if chosen == "short":
        return _short(q, k, v, visible, scale)
    if chosen == "rows":
        return by_rows(q, k, v, visible, scale)
    if chosen == "long":
        if q.shape[1] != k.shape[1] or visible.starts is not None or visible.sparse is not None:
            raise ValueError("long attention needs as many queries as keys, no cache, no blocks")
        return whole_rows(q, k, v, visible, scale)
    return plain(q, k, v, visible, scale)


def attention_weights(
    q: jax.Array, k: jax.Array, visible: Visible = ALL, *, scale: float | None = None
) -> jax.Array:
    """Attention weights [batch, heads, queries, keys], float32."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask = visible.mask(q.shape[1], k.shape[1])
    powers, total = powers_of(q, k, mask, scale, is_never_empty=visible.is_never_empty)
    return powers / total


def _short(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    if not is_automatic(q):
        raise ValueError(
            'backend="short" needs automatic sharding, got an explicit mesh or `shard_map`; pass '
            'backend="auto"'
        )
    if not takes_short(q, k, visible):
        raise ValueError(
            "short attention needs a Hopper GPU, as many queries as keys, up to 128, heads of 64, "
            "as many key as query heads, bfloat16 or float16, and no starts; got "
            f"q {q.dtype}{list(q.shape)}, k {list(k.shape)} on {jax.default_backend()}; pass "
            'backend="auto"'
        )
    ids = ids_of(q.shape, visible)
    out: jax.Array = short_attention((q, k, v), ids, causal=visible.causal, scale=scale)
    return out


def _best(q: jax.Array, k: jax.Array, visible: Visible) -> Backend:
    """A fused kernel for many queries; a few (decoding) are faster without."""
    fits = q.dtype in (jnp.bfloat16, jnp.float16) and q.shape[-1] % 8 == 0 and q.shape[-1] <= 128
    if not fits or q.shape[1] < 32 or 0 in (q.size, k.size) or not has_fused_kernels():
        is_square = q.shape[1] == k.shape[1] and visible.starts is None and visible.sparse is None
        return "long" if is_square and q.shape[1] >= _LONG else "xla"
    return "short" if takes_short(q, k, visible) and is_automatic(q) else "cudnn"


def takes_short(q: jax.Array, k: jax.Array, visible: Visible) -> bool:
    """Whether "short" takes these here."""
    return has_kernel(q.shape, k.shape[1], k.shape[2], q.dtype, visible)


def is_automatic(q: jax.Array) -> bool:
    """Pallas refuses explicit meshes, and `shard_map` unless its checks are off."""
    return all(kind == AxisType.Auto for kind in jax.typeof(q).sharding.mesh.axis_types)


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
