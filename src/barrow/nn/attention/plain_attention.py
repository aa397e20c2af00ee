"""Attention by matrix products, which runs everywhere; all scores exist at once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.attention.visible import Visible


def plain(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    mask = visible.mask(q.shape[1], k.shape[1])
    return masked(q, k, v, mask, scale, is_never_empty=visible.is_never_empty)


def masked(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    mask: jax.Array | None,
    scale: float,
    *,
    is_never_empty: bool,
) -> jax.Array:
    """Values are summed first and divided afterwards: there are fewer results than weights."""
    powers, total = powers_of(q, k, mask, scale, is_never_empty=is_never_empty)
    batch, num_heads, num_queries, num_keys = powers.shape
    kv_heads, dim = v.shape[2:]
    grouped = powers.reshape(batch, kv_heads, num_heads // kv_heads, num_queries, num_keys)
    out = jnp.einsum(
        "bkgqs,bskd->bqkgd", grouped.astype(v.dtype), v, preferred_element_type=jnp.float32
    )
    out = out.reshape(batch, num_queries, num_heads, dim) / jnp.swapaxes(total, 1, 2)
    return out.astype(v.dtype)


def powers_of(
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


def by_rows(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
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
