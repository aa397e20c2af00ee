"""Attention of one new place in each row to a cache, which it is appended to: one kernel.

Each head has a block. Its threads see different places and keep their own softmax, of scores up to
their own highest; at the end these are joined. The plain form (`plain`) is the definition.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.attention.cache import written
from barrow.nn.attention.plain_attention import masked
from barrow.nn.hopper import is_hopper, log_choice, with_twin

_TILE = 64  # places
_LONGEST = 4096  # places; a head has a single multiprocessor
Turn = tuple[jax.Array, jax.Array]
Found = tuple[jax.Array, jax.Array, jax.Array]


def append_and_attend(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    lengths: jax.Array,
    turn: Turn | None = None,
    *,
    scale: float,
) -> Found:
    """Attention of q [batch, heads, head_dim], and the caches with k and v [batch, kv_heads, …].

    Caches [batch, kv_heads, capacity, head_dim] have `lengths` places before. With `turn`, cosines
    and sines [batch, head_dim / 2], q and k are rotated first (see `nn.Rotary`).
    """
    fits = has_kernel(keys.shape, keys.dtype)
    log_choice("attention of one place", keys.shape, fits)
    twin = partial(plain, scale=scale)
    call = with_twin(partial(_kernel, scale=scale), twin) if fits else twin
    found: Found = call(q, k, v, keys, values, lengths, turn)
    return found


def plain(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    lengths: jax.Array,
    turn: Turn | None = None,
    *,
    scale: float,
) -> Found:
    """The definition."""
    if turn is not None:
        q, k = _turned(q, *turn), _turned(k, *turn)
    keys = written(keys, k[:, None], lengths)
    values = written(values, v[:, None], lengths)
    seen = jnp.arange(keys.shape[2]) <= lengths[:, None, None, None]
    whole = keys.swapaxes(1, 2), values.swapaxes(1, 2)
    out = masked(q[:, None], *whole, seen, scale, is_never_empty=True)
    return out[:, 0], keys, values


def _turned(x: jax.Array, cos: jax.Array, sin: jax.Array) -> jax.Array:
    low, high = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    cos, sin = cos[:, None], sin[:, None]
    both = [low * cos - high * sin, high * cos + low * sin]
    return jnp.concatenate(both, axis=-1).astype(x.dtype)


def has_kernel(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether there is a kernel here for caches of this shape and type."""
    capacity, dim = shape[2:]
    fits = dim in (64, 128) and dtype == jnp.bfloat16 and capacity <= _LONGEST
    return fits and capacity % 8 == 0 and is_hopper()


@partial(jax.jit, static_argnames=("scale", "interpret"))
def _kernel(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    lengths: jax.Array,
    turn: Turn | None,
    *,
    scale: float,
    interpret: Any = None,
) -> Found:
    """The same as `plain`; caches are written in place.

    It is traced and lowered once, not for each layer.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    batch, heads, dim = q.shape
    kv_heads, capacity = keys.shape[1:3]
    group, half = heads // kv_heads, dim // 2
    layout, halved = _tiles(dim), _tiles(half).reduce(0)
    across, down = layout.reduce(0), layout.reduce(1)
    tile = math.gcd(_TILE, capacity)
    shape = tile, dim
    in_bits = scale * math.log2(math.e)  # exp2 is one instruction

    def read(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return gpu.load(ref, at, layout=how, optimized=False)

    def wide(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return read(ref, at, how).astype(jnp.float32)

    def spread(x: jax.Array, dims: list[int]) -> Any:
        return gpu.layout_cast(lax.broadcast_in_dim(x, shape, dims), layout)

    def attention_of_one_place(*refs: Any) -> None:
        turned = [gpu.SMEM((dim,), q.dtype)] * (0 if turn is None else 2)
        pl.run_scoped(partial(inside, *refs), *turned)

    def inside(keys: Any, values: Any, lengths: Any, q: Any, k: Any, v: Any, *others: Any) -> None:
        row, head = lax.axis_index("row"), lax.axis_index("head")
        kv_head = lax.div(head, jnp.int32(group))
        length = lengths[row]

        def tiles(number: Any) -> tuple[Any, Any]:
            at = row, kv_head, pl.ds(number * tile, tile)
            return read(keys, at, layout), read(values, at, layout)

        def halves(x: Any, at: tuple[Any, ...]) -> list[Any]:
            return [wide(x, (*at, pl.ds(place, half)), halved) for place in (0, half)]

        def turned(parts: list[Any], here: Any) -> Any:
            low, high = parts
            here[pl.ds(0, half)] = (low * cos - high * sin).astype(here.dtype)
            here[pl.ds(half, half)] = (high * cos + low * sin).astype(here.dtype)
            return wide(here, (), across)

        # All is asked for before anything is waited for.
        new_v = wide(v, (row, kv_head), across)
        if turn is None:
            (out,) = others
            mine, new_k = wide(q, (row, head), across), wide(k, (row, kv_head), across)
            near = tiles(0)
        else:
            out = others[2]
            cos, sin = (wide(ref, (row,), halved) for ref in others[:2])
            parts = halves(q, (row, head)), halves(k, (row, kv_head))
            near = tiles(0)
            mine, new_k = (turned(x, here) for x, here in zip(parts, others[3:], strict=True))
        newest = jnp.sum(mine * new_k) * in_bits
        mine = spread(mine * in_bits, [1])
        num = lax.div(length + (tile - 1), jnp.int32(tile))

        def step(number: Any, carry: Any) -> Any:
            total, top, summed, key, value = carry
            after = tiles(jnp.minimum(number + 1, num - 1))
            score = (key.astype(jnp.float32) * mine).sum(axis=1)
            place = gpu.broadcasted_iota(jnp.int32, (tile,), 0, layout=down) + number * tile
            seen = place < length
            best = jnp.where(seen, jnp.maximum(top, score), top)
            weight = jnp.where(seen, jnp.exp2(score - best), 0.0)
            old = jnp.exp2(top - best)
            summed = summed * spread(old, [0]) + value.astype(jnp.float32) * spread(weight, [0])
            return total * old + weight, best, summed, *after

        def filled(value: float, shape: tuple[int, ...], how: Any) -> Any:
            return gpu.layout_cast(jnp.full(shape, value, jnp.float32), how)

        # Finite, as the difference of two infinities is not a number.
        nothing = filled(0.0, (tile,), down), filled(-1e30, (tile,), down)
        carry = lax.fori_loop(0, num, step, (*nothing, filled(0.0, shape, layout), *near))
        total, top, summed = carry[:3]
        best = jnp.maximum(jnp.max(top), newest)
        part, last = jnp.exp2(top - best), jnp.exp2(newest - best)
        y = (summed * spread(part, [0])).sum(axis=0) + new_v * last
        out[row, head] = (y / (jnp.sum(total * part) + last)).astype(out.dtype)

        @pl.when(lax.rem(head, jnp.int32(group)) == 0)
        def _() -> None:
            place = jnp.minimum(length, capacity - 1)  # as a slice that is updated
            keys[row, kv_head, place] = new_k.astype(keys.dtype)
            values[row, kv_head, place] = new_v.astype(values.dtype)

    made = pl.kernel(
        attention_of_one_place,
        out_type=jax.ShapeDtypeStruct(q.shape, q.dtype),
        mesh=gpu.Mesh(grid=(batch, heads), grid_names=("row", "head")),
        compiler_params=gpu.CompilerParams(approx_math=True, reduction_scratch_bytes=4096),
        **({} if interpret is None else {"interpret": interpret}),
    )

    def run(refs: Any) -> None:
        caches, out = refs
        out[...] = made(*caches, lengths, q, k, v, *(turn or ()))

    caches, out = pl.run_state(run)(((keys, values), jnp.zeros_like(q)))
    return out, *caches


def _tiles(width: int) -> Any:
    """How four warps hold [places, width]: four numbers of a place in a thread."""
    from jax.experimental.mosaic.gpu.fragmented_array import Tiling
    from jax.experimental.pallas import mosaic_gpu as gpu

    lanes: tuple[int, ...]
    if width == 128:
        tiling, warps, lanes = Tiling(((4, 128), (4,))), -3, (-2,)
    else:
        each = 128 // width
        tiling, warps, lanes = Tiling(((4 * each, width), (each, width), (4,))), -5, (-3, -2)
    return gpu.Layout.TILED(tiling, warp_dims=(warps,), lane_dims=lanes, vector_dim=-1)
