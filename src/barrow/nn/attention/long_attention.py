"""Attention of long rows: scores exist for one block of queries at a time, in both passes.

On several devices each has a part of every row. Keys and values go around them in a ring; what a
query has seen so far is its highest score, the sum of its weights and of the weighted values, which
the next part is added to. The gradients of keys and values go around the same way, back to where
they belong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.trace import Constrain

if TYPE_CHECKING:
    from barrow.nn.attention.visible import Visible

# Scores of a row and head that exist at a time.
_HELD = 1 << 20
_LOW = float(jnp.finfo(jnp.float32).min) / 4


@dataclass(frozen=True)
class How:
    """What is the same in both passes; `axes` of the mesh, of `size` devices, share a row."""

    causal: bool
    window: int | None
    scale: float
    axes: tuple[str, ...] = ()
    size: int = 1


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def long_attention(
    how: How,
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    segments: tuple[jax.Array, jax.Array],
    lengths: jax.Array,
) -> jax.Array:
    """Attention of q [batch, places, heads, dim]; with `axes`, on each device's part of the places.

    `segments` of queries and of keys [batch, places]; `lengths` [batch] of whole rows.
    """
    out, _ = _forward(how, q, k, v, segments, lengths)
    return out


def whole_rows(
    q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float
) -> jax.Array:
    """Attention on one device."""
    how = How(visible.causal, visible.window, scale)
    return long_attention(how, q, k, v, *_masks(q, k, visible))


def around_a_ring(
    constrain: Constrain, q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float
) -> jax.Array:
    """Attention where places are divided over devices, by the rules of `constrain`."""
    if visible.sparse is not None:
        raise ValueError(
            f"sparse attention needs whole rows: the {q.shape[2]} heads must be divisible by the "
            "devices that share a row; change the mesh's sequence, or the heads"
        )
    group = q.shape[2] // k.shape[2]
    if constrain.parts("kv_heads", k.shape[2]) != constrain.parts("heads", q.shape[2]):
        k, v = (jnp.repeat(x, group, axis=2) for x in (k, v))
    axis = "kv_heads" if k.shape[2] != q.shape[2] else "heads"

    def local(q: jax.Array, k: jax.Array, v: jax.Array, *rest: Any) -> tuple[jax.Array]:
        ours, theirs, lengths, over = rest
        axes = over("length")
        how = How(visible.causal, visible.window, scale, axes, lax.axis_size(axes))
        return (long_attention(how, q, k, v, (ours, theirs), lengths),)

    places = ("batch", "length")
    heads, kept = ("heads", "head_dim"), (axis, "head_dim")
    axes = ((*places, *heads), (*places, *kept), (*places, *kept), places, places, ("batch",))
    (ours, theirs), lengths = _masks(q, k, visible)
    call = constrain.mapped(local, axes, ((*places, *heads),))
    (out,) = call(q, k, v, ours, theirs, lengths)
    return out  # type: ignore[no-any-return]


def _masks(
    q: jax.Array, k: jax.Array, visible: Visible
) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
    """Segments and lengths, also where nothing is masked."""
    batch, num, *_ = q.shape
    none = jnp.zeros((batch, num), jnp.int32)
    segments = (none, none) if visible.segments is None else visible.segments
    ours, theirs = (jnp.broadcast_to(x, (batch, num)) for x in segments)
    full = jnp.full((batch,), k.shape[1], jnp.int32)
    return (ours, theirs), full if visible.lengths is None else visible.lengths


def _forward(
    how: How, q: jax.Array, k: jax.Array, v: jax.Array, segments: Any, lengths: jax.Array
) -> tuple[jax.Array, Any]:
    batch, num, heads, dim = q.shape
    kv_heads = k.shape[2]
    shape = (batch, kv_heads, heads // kv_heads, num)
    first, q, segments, lengths = _tied(_index(how) * num, q, segments, lengths)
    queries = _grouped(q, kv_heads)
    blocks = _blocks(num, k.shape[1])

    def one(held: Any, keys: Any) -> tuple[Any, None]:
        def of_block(block: Any) -> Any:
            (q, ours, at), (total, top, out) = block
            score, seen = _scores(how, q, ours, first + at, keys, lengths)
            score = jnp.where(seen, score, _LOW)
            best = jnp.maximum(top, score.max(axis=-1))
            weight = jnp.where(seen, jnp.exp(score - best[..., None]), 0)
            old = jnp.exp(top - best)
            summed = jnp.einsum("bkgnm,bmkd->bkgnd", weight.astype(v.dtype), keys["v"])
            out = old[..., None] * out + summed.astype(jnp.float32)
            return old * total + weight.sum(axis=-1), best, out

        parts = (_cut(queries, blocks, 3), _cut(segments[0], blocks, 1), _starts(num, blocks))
        carried = tuple(_cut(x, blocks, 3) for x in held)
        return tuple(_join(x, 3) for x in lax.map(of_block, (parts, carried))), None

    start = (jnp.zeros(shape), jnp.full(shape, _LOW), jnp.zeros((*shape, dim)))
    total, top, out = _around(how, one, start, {"k": k, "v": v, "segments": segments[1]})
    total = jnp.where(total == 0, 1.0, total)
    out = _flat(out / total[..., None]).astype(q.dtype)
    return out, (q, k, v, segments, lengths, out, top + jnp.log(total))


def _backward(how: How, kept: Any, grad: jax.Array) -> tuple[Any, ...]:
    q, k, v, segments, lengths, out, norm = kept
    num, kv_heads = q.shape[1], k.shape[2]
    queries, above = _grouped(q, kv_heads), _grouped(grad, kv_heads)
    excess = jnp.einsum("bkgnd,bkgnd->bkgn", above, _grouped(out, kv_heads).astype(jnp.float32))
    first, _, segments, lengths = _tied(_index(how) * num, q, segments, lengths)
    blocks = _blocks(num, k.shape[1])

    def one(grad_q: jax.Array, keys: Any) -> tuple[jax.Array, dict[str, jax.Array]]:
        def of_block(sums: Any, block: Any) -> tuple[Any, jax.Array]:
            q, ours, at, above, excess, norm = block
            score, seen = _scores(how, q, ours, first + at, keys, lengths)
            weight = jnp.where(seen, jnp.exp(score - norm[..., None]), 0)
            of_weight = jnp.einsum("bkgnd,bmkd->bkgnm", above, keys["v"])
            of_score = weight * (of_weight.astype(jnp.float32) - excess[..., None]) * how.scale
            weight, of_score = weight.astype(q.dtype), of_score.astype(q.dtype)
            wide = {"preferred_element_type": jnp.float32}
            of_k = sums[0] + jnp.einsum("bkgnm,bkgnd->bmkd", of_score, q, **wide)
            of_v = sums[1] + jnp.einsum("bkgnm,bkgnd->bmkd", weight, above, **wide)
            return (of_k, of_v), jnp.einsum("bkgnm,bmkd->bkgnd", of_score, keys["k"], **wide)

        parts = (
            _cut(queries, blocks, 3),
            _cut(segments[0], blocks, 1),
            _starts(num, blocks),
            *(_cut(x, blocks, 3) for x in (above, excess, norm)),
        )
        (of_k, of_v), of_q = lax.scan(of_block, (keys["of_k"], keys["of_v"]), parts)
        return grad_q + _join(of_q, 3), {"of_k": of_k, "of_v": of_v}

    zeros = {name: jnp.zeros(k.shape, jnp.float32) for name in ("of_k", "of_v")}
    start = jnp.zeros(queries.shape, jnp.float32)
    keys = {"k": k, "v": v, "segments": segments[1], **zeros}
    grad_q, found = _around(how, one, start, keys, back=("of_k", "of_v"))
    of_k, of_v = (found[name].astype(k.dtype) for name in ("of_k", "of_v"))
    return _flat(grad_q).astype(q.dtype), of_k, of_v, None, None


long_attention.defvjp(_forward, _backward)


def _around(
    how: How, one: Any, start: Any, keys: dict[str, Any], back: tuple[str, ...] = ()
) -> Any:
    """Call `one` with the keys of every device; what it changes of them travels along."""

    def turn(held: Any, step: jax.Array) -> tuple[Any, None]:
        carried, keys = held
        at = (_index(how) - step) % how.size * keys["k"].shape[1]
        carried, changed = one(carried, {**keys, "at": at})
        keys = keys | (changed or {})
        if how.axes:
            pairs = [(i, (i + 1) % how.size) for i in range(how.size)]
            keys = {name: lax.ppermute(x, how.axes, pairs) for name, x in keys.items()}
        return (carried, keys), None

    (carried, keys), _ = lax.scan(turn, (start, keys), jnp.arange(how.size))
    return (carried, {name: keys[name] for name in back}) if back else carried


def _scores(
    how: How, q: jax.Array, ours: jax.Array, at: jax.Array, keys: Any, lengths: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Scores [batch, kv_heads, group, queries, keys], and which of them count."""
    score = jnp.einsum("bkgnd,bmkd->bkgnm", q, keys["k"], preferred_element_type=jnp.float32)
    places = (at + jnp.arange(q.shape[3]))[:, None]
    others = keys["at"] + jnp.arange(keys["k"].shape[1])
    seen = (ours[:, :, None] == keys["segments"][:, None]) & (others < lengths[:, None, None])
    if how.causal:
        seen = seen & (others <= places)
    if how.window is not None:
        seen = seen & (others > places - how.window)
    return how.scale * score, seen[:, None, None]


def _tied(first: Any, q: jax.Array, segments: Any, lengths: jax.Array) -> Any:
    """The same, all of them computed after q.

    Masks would else be the same in all layers: a scan over layers would compute them once, before
    the first, and keep them all.
    """
    return lax.optimization_barrier((jnp.int32(first), q, segments, lengths))


def _index(how: How) -> Any:
    return lax.axis_index(how.axes) if how.axes else 0


def _grouped(x: jax.Array, kv_heads: int) -> jax.Array:
    """[batch, places, heads, dim] → [batch, kv_heads, group, places, dim]."""
    batch, num, heads, dim = x.shape
    return x.reshape(batch, num, kv_heads, heads // kv_heads, dim).transpose(0, 2, 3, 1, 4)


def _flat(x: jax.Array) -> jax.Array:
    batch, kv_heads, group, num, dim = x.shape
    return x.transpose(0, 3, 1, 2, 4).reshape(batch, num, kv_heads * group, dim)


def _blocks(num: int, num_keys: int) -> int:
    """The number of blocks of queries: a divisor, so that blocks are equal."""
    wanted = min(num, num * num_keys // _HELD + 1)
    return next(n for n in range(wanted, num + 1) if num % n == 0)


def _starts(num: int, blocks: int) -> jax.Array:
    return jnp.arange(blocks) * (num // blocks)


def _cut(x: jax.Array, blocks: int, axis: int) -> jax.Array:
    shape = (*x.shape[:axis], blocks, x.shape[axis] // blocks, *x.shape[axis + 1 :])
    return jnp.moveaxis(x.reshape(shape), axis, 0)


def _join(x: jax.Array, axis: int) -> jax.Array:
    x = jnp.moveaxis(x, 0, axis)
    return x.reshape(*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])
