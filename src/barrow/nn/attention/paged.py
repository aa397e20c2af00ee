"""A key–value cache in pages: rows of any lengths share one array of pages for each layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.attention.paged_kernel import attend_pages, has_kernel

# Places that are gathered at a time for each row.
_GATHERED = 256
_LOW = float(jnp.finfo(jnp.float32).min) / 4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pages:
    """Keys or values [pages, kv_heads, page, head_dim]; a head of a page is contiguous.

    They are finite: what is left of a former row in a page is multiplied by 0. With `scales`
    [pages, kv_heads, page], `data` are int8 and each vector has its own scale.
    """

    data: jax.Array
    scales: jax.Array | None = None

    @classmethod
    def empty(cls, num: int, page: int, kv_heads: int, head_dim: int, dtype: Any) -> Pages:
        """Pages of zeros; with the type int8 they have scales."""
        shape = (num, kv_heads, page, head_dim)
        is_scaled = jnp.dtype(dtype) == jnp.int8
        scales = jnp.zeros(shape[:3], jnp.float32) if is_scaled else None
        return cls(jnp.zeros(shape, dtype), scales)

    def put(self, where: Any, x: jax.Array) -> Pages:
        """With vectors x written at an index; one past the end is ignored."""
        x = jnp.where(jnp.isfinite(x), x, 0)
        if self.scales is None:
            return replace(self, data=self.data.at[where].set(x.astype(self.data.dtype)))
        x = x.astype(jnp.float32)
        scales = jnp.maximum(jnp.abs(x).max(axis=-1), 1e-30) / 127
        data = jnp.round(x / scales[..., None]).astype(jnp.int8)
        return Pages(self.data.at[where].set(data), self.scales.at[where].set(scales))

    def gather(self, pages: jax.Array, dtype: Any) -> jax.Array:
        """Of pages [rows, num]: vectors [rows, kv_heads, num · page, head_dim]."""
        _, kv_heads, page, dim = self.data.shape
        index = (pages[:, None], jnp.arange(kv_heads)[:, None])
        found = self.data[index]
        if self.scales is not None:
            found = found.astype(jnp.float32) * self.scales[index][..., None]
        return found.astype(dtype).reshape(len(pages), kv_heads, pages.shape[1] * page, dim)


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("tables", "starts", "nums"),
    meta_fields=("num_singles",),
)
@dataclass(frozen=True)
class Rows:
    """Which pages each row has, and which of its positions a step computes.

    The first `num_singles` rows have one token each, the others as many as a page; `nums` of them
    are real, from position `starts` on. All tokens are one flat row, in this order. Rows of more
    than one token start at the border of a page. `tables` [rows, pages] are the numbers of pages.
    """

    tables: jax.Array
    starts: jax.Array
    nums: jax.Array
    num_singles: int


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Paged:
    """One layer's keys and values in pages.

    `MultiHead` takes it in place of `KeyValues`, with all tokens of a step as one flat row. It has
    no view: rows of very different lengths would all be as long as the longest.
    """

    keys: Pages
    values: Pages
    rows: Rows

    @property
    def lengths(self) -> jax.Array:
        """Positions in each row, with those of this step."""
        return self.rows.starts + self.rows.nums

    def append(self, k: jax.Array, v: jax.Array) -> Paged:
        """With the keys and values [1, tokens, kv_heads, head_dim] of this step."""
        return replace(self, keys=self._put(self.keys, k[0]), values=self._put(self.values, v[0]))

    def _put(self, pages: Pages, x: jax.Array) -> Pages:
        num, rows = self.rows.num_singles, self.rows
        past, kv_heads, page, dim = pages.data.shape
        numbers = jnp.take_along_axis(rows.tables, rows.starts[:, None] // page, axis=1)[:, 0]
        numbers = jnp.where(rows.nums > 0, numbers, past)  # rows without tokens write nothing
        if num:
            where = (numbers[:num], slice(None), rows.starts[:num] % page)
            pages = pages.put(where, x[:num])
        if len(numbers) > num:
            parts = x[num:].reshape(-1, page, kv_heads, dim).swapaxes(1, 2)
            pages = pages.put(numbers[num:], parts)
        return pages

    def attend(
        self, q: jax.Array, *, scale: float | None = None, window: int | None = None
    ) -> jax.Array:
        """Causal attention of q [1, tokens, heads, head_dim], each row to its own positions."""
        num, page = self.rows.num_singles, self.keys.data.shape[2]
        heads, dim = q.shape[2:]
        see = partial(self._attend, scale=scale or dim**-0.5, window=window)
        groups = []
        if num:
            groups.append(see(q[0, :num, None], slice(num)))
        if q.shape[1] > num:
            groups.append(see(q[0, num:].reshape(-1, page, heads, dim), slice(num, None)))
        return jnp.concatenate([x.reshape(-1, heads, dim) for x in groups])[None]

    def _attend(self, q: jax.Array, which: slice, *, scale: float, window: int | None) -> jax.Array:
        """Attention of q [rows, queries, heads, head_dim], over a few pages of each at a time.

        The loop ends with the longest row. A turn past the end of another row multiplies what it
        has by 1 and adds 0, so its result does not depend on the longest.
        """
        num_rows, queries, heads, dim = q.shape
        kv_heads, page = self.keys.data.shape[1:3]
        tables, starts = self.rows.tables[which], self.rows.starts[which]
        if self.keys.data.dtype == q.dtype and has_kernel(page, heads // kv_heads, dim, q.dtype):
            data = self.keys.data, self.values.data
            lengths = self.lengths[which]
            return attend_pages(q, *data, tables, starts, lengths, scale=scale, window=window)
        lengths = self.lengths[which][:, None, None]
        num = min(max(_GATHERED // page, 1), tables.shape[1])
        tables = jnp.pad(tables, ((0, 0), (0, -tables.shape[1] % num)))
        grouped = q.reshape(num_rows, queries, kv_heads, heads // kv_heads, dim)
        grouped = grouped.transpose(0, 2, 3, 1, 4).reshape(num_rows, kv_heads, -1, dim)
        places = jnp.tile(starts[:, None] + jnp.arange(queries), heads // kv_heads)[..., None]

        def turn(number: jax.Array, held: Any) -> Any:
            total, top, out = held
            pages = lax.dynamic_slice_in_dim(tables, number * num, num, axis=1)
            others = number * num * page + jnp.arange(num * page)
            seen = (others <= places) & (others < lengths)
            if window is not None:
                seen = seen & (others > places - window)
            seen = seen[:, None]
            k, v = (x.gather(pages, q.dtype) for x in (self.keys, self.values))
            score = jnp.einsum("rkmd,rksd->rkms", grouped, k, preferred_element_type=jnp.float32)
            score = jnp.where(seen, scale * score, _LOW)
            best = jnp.maximum(top, score.max(axis=-1))
            weight = jnp.where(seen, jnp.exp(score - best[..., None]), 0)
            summed = jnp.einsum(
                "rkms,rksd->rkmd", weight.astype(v.dtype), v, preferred_element_type=jnp.float32
            )
            old = jnp.exp(top - best)
            return old * total + weight.sum(axis=-1), best, old[..., None] * out + summed

        shape = grouped.shape[:3]
        start = (jnp.zeros(shape), jnp.full(shape, _LOW), jnp.zeros((*shape, dim)))
        turns = -(-lengths.max() // (num * page))
        total, _, out = lax.fori_loop(0, turns, turn, start)
        out = out / jnp.where(total == 0, 1.0, total)[..., None]
        out = out.reshape(num_rows, kv_heads, heads // kv_heads, queries, dim)
        flat: jax.Array = out.transpose(0, 3, 1, 2, 4).reshape(num_rows, queries, heads, dim)
        return flat.astype(q.dtype)
