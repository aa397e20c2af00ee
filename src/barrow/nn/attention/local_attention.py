"""Windows and sparse blocks: time and memory in proportion to the length of a row."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.nn.attention.plain_attention import masked
from barrow.nn.attention.visible import Sparse, Visible


def pays_in_blocks(q: jax.Array, k: jax.Array, visible: Visible) -> bool:
    """Whether blocks are fewer scores than whole rows."""
    if q.shape[1] != k.shape[1] or visible.starts is not None:
        return False
    size, table = _blocks(k.shape[1], visible)
    return bool(size * table.shape[1] < k.shape[1])


def in_blocks(
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
    out = masked(
        cut(q).reshape(batch * num, size, heads, dim),
        seen(k),
        seen(v),
        mask.reshape(batch * num, 1, size, most * size),
        scale,
        is_never_empty=False,
    )
    return out.reshape(batch, num * size, heads, dim)[:, :length]


def _blocks(length: int, visible: Visible) -> tuple[int, npt.NDArray[np.int64]]:
    """The size of blocks, and the numbers of those that each sees."""
    sparse = visible.sparse
    if sparse is None:
        assert visible.window is not None
        sparse = Sparse(size=visible.window, before=1, first=0)
    return sparse.size, sparse.blocks(-(-length // sparse.size), causal=visible.causal)
