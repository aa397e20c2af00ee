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
import numpy.typing as npt
from jax import lax
from jax.sharding import AxisType

from barrow.nn.attention.long_attention import whole_rows

# Places of rows whose scores are not computed all at once.
_LONG = 4096
Backend = Literal["auto", "xla", "cudnn", "short", "rows", "long", "mapped"]


@dataclass(frozen=True)
class Sparse:
    """Blocks of `size` places: one sees itself, `before` blocks before it, and the `first` ones.

    Without causality it sees as many blocks after it as before. A row of n places then takes time
    and memory in proportion to n · size · (before + first + 1).
    """

    size: int = 64
    before: int = 3
    first: int = 1

    def __post_init__(self) -> None:
        if self.size < 1 or min(self.before, self.first) < 0:
            raise ValueError(f"size must be ≥ 1, before and first ≥ 0, got {self}")

    def blocks(self, num: int, *, causal: bool) -> npt.NDArray[np.int64]:
        """The numbers of the blocks that each of `num` blocks sees [num, most]; −1 for no block."""
        after = 0 if causal else self.before
        near = np.arange(num)[:, None] + np.arange(-self.before, after + 1)
        near[(near < self.first) | (near >= num)] = -1
        far = np.broadcast_to(np.arange(min(self.first, num)), (num, min(self.first, num))).copy()
        if causal:
            far[far > np.arange(num)[:, None]] = -1
        return np.concatenate([far, near], axis=1)


@dataclass(frozen=True)
class Visible:
    """Which keys a query sees; a field that is None does not restrict them.

    causal: no key later than the query. starts [batch]: the position of each row's first query
    among the keys, 0 without a cache. lengths [batch]: the number of keys of each row. segments:
    ids of queries [batch, queries] and of keys [batch, keys]; a query sees its own segment. window:
    with `causal`, only so many keys, the query's own the last. sparse: only some blocks.
    """

    causal: bool = False
    starts: jax.Array | None = None
    lengths: jax.Array | None = None
    segments: tuple[jax.Array, jax.Array] | None = None
    window: int | None = None
    sparse: Sparse | None = None

    def __post_init__(self) -> None:
        if self.window is not None and (self.window < 1 or not self.causal):
            raise ValueError(f"window must be ≥ 1, and causal, got {self.window}")

    @property
    def is_plain(self) -> bool:
        """Whether causality is the only mask."""
        arrays = (self.starts, self.lengths, self.segments)
        return all(array is None for array in arrays) and not self.is_local

    @property
    def is_window_alone(self) -> bool:
        """Whether a window of causal attention is the only mask."""
        return self.window is not None and replace(self, window=None).is_plain

    @property
    def is_local(self) -> bool:
        """Whether a query sees only some places, whatever the row."""
        return self.window is not None or self.sparse is not None

    @property
    def is_never_empty(self) -> bool:
        """Whether every query sees a key, at least its own."""
        return self.causal and self.lengths is None

    @property
    def is_padding(self) -> bool:
        """Whether the lengths of rows are the only mask."""
        others = self.causal or self.starts is not None or self.segments is not None
        return self.lengths is not None and not others and not self.is_local

    def mask(self, num_queries: int, num_keys: int) -> jax.Array | None:
        """Booleans [batch or 1, 1, queries, keys]; None where everything is seen."""
        parts = []
        if self.causal:
            places = jnp.arange(num_queries)[:, None]
            if self.starts is not None:
                places = self.starts[:, None, None, None] + places
            parts.append(jnp.arange(num_keys) <= places)
            if self.window is not None:
                parts.append(jnp.arange(num_keys) > places - self.window)
        if self.sparse is not None:
            parts.append(self._sees_block(num_queries, num_keys))
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

    def _sees_block(self, num_queries: int, num_keys: int) -> jax.Array:
        """Whether a query's block sees a key's, [queries, keys] or [batch, 1, queries, keys]."""
        assert self.sparse is not None
        size = self.sparse.size
        num = -(-num_keys // size)
        sees = np.zeros((num, num + 1), np.bool_)  # the last column is for −1
        np.put_along_axis(sees, self.sparse.blocks(num, causal=self.causal), True, axis=1)
        places = jnp.arange(num_queries)
        if self.starts is not None:
            places = self.starts[:, None] + places
        rows = jnp.asarray(sees[:, :num])[places // size]
        found = rows[..., np.arange(num_keys) // size]
        return found if self.starts is None else found[:, None]


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
    and runs everywhere. "long" never has all scores at once; "auto" chooses it for rows of 4,096
    places and more where there is no fused kernel. "rows" computes one row of the batch after
    another: on CPUs scores then stay in the cache, and inference is up to three times faster.
    "mapped" is for programs that `jax.vmap` maps over models: it chooses "cudnn" or "xla".
    """
    _refuse_other_shapes(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    chosen = _best(q, k, visible) if backend in ("auto", "mapped") else backend
    has_kernel = chosen == "cudnn" and visible.is_window_alone and q.shape[1] == k.shape[1]
    if visible.is_local and not has_kernel and _pays_in_blocks(q, k, visible):
        return _in_blocks(q, k, v, visible, scale)
    if backend == "mapped" and chosen in ("cudnn", "short"):
        return _cudnn(q, k, v, visible, scale, heads_of_mask=q.shape[2])
    if chosen == "cudnn":
        return _cudnn(q, k, v, visible, scale)
    if chosen == "short":
        return _short(q, k, v, visible, scale)
    if chosen == "rows":
        return _by_rows(q, k, v, visible, scale)
    if chosen == "long":
        if q.shape[1] != k.shape[1] or visible.starts is not None or visible.sparse is not None:
            raise ValueError("long attention needs as many queries as keys, no cache, no blocks")
        return whole_rows(q, k, v, visible, scale)
    return _plain(q, k, v, visible, scale)


def attention_weights(
    q: jax.Array, k: jax.Array, visible: Visible = ALL, *, scale: float | None = None
) -> jax.Array:
    """Attention weights [batch, heads, queries, keys], float32."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask = visible.mask(q.shape[1], k.shape[1])
    powers, total = _powers(q, k, mask, scale, is_never_empty=visible.is_never_empty)
    return powers / total


def _plain(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    mask = visible.mask(q.shape[1], k.shape[1])
    return _masked(q, k, v, mask, scale, is_never_empty=visible.is_never_empty)


def _pays_in_blocks(q: jax.Array, k: jax.Array, visible: Visible) -> bool:
    """Whether blocks are fewer scores than whole rows."""
    if q.shape[1] != k.shape[1] or visible.starts is not None:
        return False
    size, table = _blocks(k.shape[1], visible)
    return bool(size * table.shape[1] < k.shape[1])


def _blocks(length: int, visible: Visible) -> tuple[int, npt.NDArray[np.int64]]:
    """The size of blocks, and the numbers of those that each sees."""
    sparse = visible.sparse
    if sparse is None:
        assert visible.window is not None
        sparse = Sparse(size=visible.window, before=1, first=0)
    return sparse.size, sparse.blocks(-(-length // sparse.size), causal=visible.causal)


def _in_blocks(
    q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float
) -> jax.Array:
    """Blocks of queries become rows, each with the blocks of keys that it sees."""
    batch, length, heads, dim = q.shape
    size, table = _blocks(length, visible)
    num, most = table.shape

    def cut(x: jax.Array, value: int = 0) -> jax.Array:
        widths = [(0, 0), (0, num * size - length), *[(0, 0)] * (x.ndim - 2)]
        filled = jnp.pad(x, widths, constant_values=value)
        return filled.reshape(batch, num, size, *x.shape[2:])

    def seen(x: jax.Array, value: int = 0) -> jax.Array:
        return cut(x, value)[:, table].reshape(batch * num, most * size, *x.shape[2:])

    queries = np.arange(num * size).reshape(num, size, 1)
    blocks = table[..., None]
    keys = np.where(blocks < 0, -1, blocks * size + np.arange(size)).reshape(num, 1, most * size)
    allowed = (keys >= 0) & (keys < length)
    if visible.causal:
        allowed = allowed & (keys <= queries)
    if visible.window is not None:
        allowed = allowed & (keys > queries - visible.window)
    mask = jnp.asarray(allowed)[None, :, None]
    if visible.lengths is not None:
        mask = mask & (jnp.asarray(keys)[:, None] < visible.lengths[:, None, None, None, None])
    if visible.segments is not None:
        ours, theirs = visible.segments
        same = cut(ours, -1).reshape(batch * num, size, 1) == seen(theirs, -2)[:, None]
        mask = mask & same.reshape(batch, num, 1, size, most * size)
    mask = jnp.broadcast_to(mask, (batch, num, 1, size, most * size))
    out = _masked(
        cut(q).reshape(batch * num, size, heads, dim),
        seen(k),
        seen(v),
        mask.reshape(batch * num, 1, size, most * size),
        scale,
        is_never_empty=False,
    )
    return out.reshape(batch, num * size, heads, dim)[:, :length]


def _masked(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    mask: jax.Array | None,
    scale: float,
    *,
    is_never_empty: bool,
) -> jax.Array:
    """Values are summed first and divided afterwards: there are fewer results than weights."""
    powers, total = _powers(q, k, mask, scale, is_never_empty=is_never_empty)
    batch, num_heads, num_queries, num_keys = powers.shape
    kv_heads, dim = v.shape[2:]
    grouped = powers.reshape(batch, kv_heads, num_heads // kv_heads, num_queries, num_keys)
    out = jnp.einsum(
        "bkgqs,bskd->bqkgd", grouped.astype(v.dtype), v, preferred_element_type=jnp.float32
    )
    out = out.reshape(batch, num_queries, num_heads, dim) / jnp.swapaxes(total, 1, 2)
    return out.astype(v.dtype)


def _powers(
    q: jax.Array, k: jax.Array, mask: jax.Array | None, scale: float, *, is_never_empty: bool
) -> tuple[jax.Array, jax.Array]:
    """exp(score − the query's highest) [batch, heads, queries, keys], and its sum over the keys."""
    batch, num_queries, num_heads, dim = q.shape
    num_keys, kv_heads = k.shape[1:3]
    grouped = q.reshape(batch, num_queries, kv_heads, num_heads // kv_heads, dim)
    scores = scale * jnp.einsum("bqkgd,bskd->bkgqs", grouped, k, preferred_element_type=jnp.float32)
    scores = scores.reshape(batch, num_heads, num_queries, num_keys)
    if mask is not None:
        # Finite, so that a query that sees nothing has no NaN in its gradient.
        scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    powers = jnp.exp(scores - lax.stop_gradient(scores.max(axis=-1, keepdims=True)))
    if mask is None or is_never_empty:
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
    # The kernel knows causality and windows; any other mask is explicit, and contains both.
    is_known = visible.is_plain or (visible.is_window_alone and q.shape[1] == k.shape[1])
    mask = None if is_known else visible.mask(q.shape[1], k.shape[1])
    if mask is not None and heads_of_mask > 1:
        mask = jnp.broadcast_to(mask, (q.shape[0], heads_of_mask, *mask.shape[2:]))
    window = visible.window if is_known else None
    out = jax.nn.dot_product_attention(
        q,
        k,
        v,
        mask=mask,
        scale=distinct_scale(scale),
        is_causal=visible.causal and is_known,
        local_window_size=None if window is None else (window - 1, 0),
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

    if not _is_automatic(q):
        raise ValueError(
            'backend="short" needs automatic sharding, got an explicit mesh or `shard_map`; pass '
            'backend="auto"'
        )
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
    return fits and visible.starts is None and visible.segments is None and not visible.is_local


def _best(q: jax.Array, k: jax.Array, visible: Visible) -> Backend:
    """A fused kernel for many queries; a few (decoding) are faster without."""
    fits = q.dtype in (jnp.bfloat16, jnp.float16) and q.shape[-1] % 8 == 0 and q.shape[-1] <= 128
    if not fits or q.shape[1] < 32 or 0 in (q.size, k.size) or not _has_fused_kernels():
        is_square = q.shape[1] == k.shape[1] and visible.starts is None and visible.sparse is None
        return "long" if is_square and q.shape[1] >= _LONG else "xla"
    return "short" if _is_short(q, k, visible) and _takes_pallas(q) else "cudnn"


def _has_fused_kernels() -> bool:
    """NVIDIA's, from Ampere on; AMD's are GPUs to JAX too, with names such as gfx942."""
    if jax.default_backend() != "gpu":
        return False
    generation = str(jax.local_devices()[0].compute_capability).partition(".")[0]
    return generation.isdecimal() and int(generation) >= 8


def _takes_pallas(q: jax.Array) -> bool:
    """Whether this JAX has Pallas for GPUs, with automatic sharding."""
    if not _is_automatic(q):
        return False
    try:
        import barrow.nn.attention.short_attention  # noqa: F401
    except ImportError:
        return False
    return True


def _is_automatic(q: jax.Array) -> bool:
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
