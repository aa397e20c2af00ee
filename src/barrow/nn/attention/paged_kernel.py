"""Attention to pages of keys and values where they lie: a kernel for Hopper GPUs.

The plain form (`Paged.attend`) first copies the pages of each row, and every row takes as long as
the longest. Here each row and head reads its own pages once.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import is_hopper, log_choice

_PAGE = 64  # also the rows of the smallest matrix product
_LINES = 8  # of a tile; queries of a head are padded to so many
_STAGES = 3  # pages on their way, of keys and of values: two blocks fit into a multiprocessor


def has_kernel(page: int, group: int, head_dim: int, dtype: Any) -> bool:
    """Whether `attend_pages` takes such pages here."""
    if not is_hopper():
        return False
    fits = page == _PAGE and group <= _PAGE and head_dim in (64, 128)
    fits = fits and dtype in (jnp.bfloat16, jnp.float16)
    log_choice("attention to pages", (page, group, head_dim), fits)
    return fits


def attend_pages(
    q: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    tables: jax.Array,
    starts: jax.Array,
    lengths: jax.Array,
    *,
    scale: float,
    window: int | None = None,
    interpret: Any = None,
) -> jax.Array:
    """Causal attention of q [rows, queries, heads, head_dim], each row to its own pages.

    `keys` and `values` are [pages, kv_heads, 64, head_dim], all finite; `tables` [rows, pages] has
    the numbers of a row's pages. A row has `lengths` positions, and its queries are those from
    `starts` on: one, or 64. A row of no positions gets zeros.
    """
    rows, queries, heads, dim = q.shape
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    if queries == 1:  # heads that share keys are the lines of one product
        lines, blocks = -(-group // _LINES) * _LINES, 1
        lined = q.reshape(rows, kv_heads, group, dim)
        lined = jnp.pad(lined, ((0, 0), (0, 0), (0, lines - group), (0, 0)))
    else:  # queries of a head are
        lines, blocks = queries, group
        lined = q.swapaxes(1, 2)
    assert lines <= _PAGE
    assert keys.shape[2] == _PAGE
    out: jax.Array = _attend(
        lined,
        keys,
        values,
        tables,
        starts,
        lengths,
        blocks=blocks,
        scale=scale,
        window=window,
        interpret=interpret,
    )
    if queries == 1:
        return out[:, :, :group].reshape(rows, 1, heads, dim)
    return out.swapaxes(1, 2)


@partial(jax.jit, static_argnames=("blocks", "scale", "window", "interpret"))
def _attend(
    q: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    tables: jax.Array,
    starts: jax.Array,
    lengths: jax.Array,
    *,
    blocks: int,
    scale: float,
    window: int | None,
    interpret: Any,
) -> jax.Array:
    """Of q [rows, kv_heads · blocks, lines, head_dim]; in blocks of several, lines are places.

    It is traced and lowered once, not for each layer.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, heads, lines, dim = q.shape
    stages = _STAGES * 128 // dim
    is_many = lines == _PAGE
    in_bits = scale * math.log2(math.e)  # exp2 is one instruction

    def body(
        q: Any,
        keys: Any,
        values: Any,
        tables: Any,
        starts: Any,
        lengths: Any,
        out: Any,
        held: Any,
        k_held: Any,
        v_held: Any,
        q_here: Any,
        k_here: Any,
        v_here: Any,
    ) -> None:
        row, head = lax.axis_index("row"), lax.axis_index("head")
        kv_head = lax.div(head, jnp.int32(blocks))
        start, length = starts[row], lengths[row]
        end = lax.div(length + (_PAGE - 1), jnp.int32(_PAGE))
        first = jnp.int32(0)
        if window is not None:
            first = lax.div(jnp.maximum(start - (window - 1), 0), jnp.int32(_PAGE))
        num = end - first

        def fetch(step: Any, of: Any, into: Any, here: Any) -> None:
            @pl.when(step < num)
            def _() -> None:
                slot = lax.rem(step, jnp.int32(stages))
                page = tables[row, first + step]
                gpu.copy_gmem_to_smem(of.at[page, kv_head], into.at[slot], here.at[slot])

        gpu.copy_gmem_to_smem(q.at[row, head], held.at[pl.ds(0, lines)], q_here)
        for step in range(stages):
            fetch(jnp.int32(step), keys, k_held, k_here)
            fetch(jnp.int32(step), values, v_held, v_here)
        gpu.barrier_wait(q_here)

        def filled(value: float, shape: tuple[int, ...], layout: Any) -> Any:
            return gpu.layout_cast(jnp.full(shape, value, jnp.float32), layout)

        tall = gpu.Layout.WGMMA.reduce(1)
        shape = (_PAGE, _PAGE)

        def turn(step: Any, carry: Any) -> Any:
            total, top, summed = carry
            slot = lax.rem(step, jnp.int32(stages))
            gpu.barrier_wait(k_here.at[slot])

            def products(scores: Any) -> Any:
                gpu.wgmma(scores, held, k_held.at[slot].transpose((1, 0)))
                return scores[...]

            score = pl.run_scoped(products, gpu.WGMMAAccumulatorRef(shape, jnp.float32)) * in_bits
            fetch(step + stages, keys, k_held, k_here)
            others = gpu.broadcasted_iota(jnp.int32, shape, 1, layout=gpu.Layout.WGMMA)
            others = others + (first + step) * _PAGE
            seen = others < length
            if is_many or window is not None:
                places = start
                if is_many:
                    line = gpu.broadcasted_iota(jnp.int32, shape, 0, layout=gpu.Layout.WGMMA)
                    places = start + line
                    seen = seen & (others <= places)
                if window is not None:
                    seen = seen & (others > places - window)
            score = jnp.where(seen, score, -jnp.inf)
            best = jnp.maximum(top, score.max(axis=1))
            # A line that has seen nothing has no highest score.
            base = jnp.where(best == -jnp.inf, 0.0, best)
            weight = jnp.exp2(score - lax.broadcast_in_dim(base, shape, [0]))
            old = jnp.exp2(top - base)
            total = old * total + weight.sum(axis=1)
            gpu.barrier_wait(v_here.at[slot])

            def weighted(sums: Any) -> Any:
                gpu.wgmma(sums, weight.astype(held.dtype), v_held.at[slot])
                return sums[...]

            more = pl.run_scoped(weighted, gpu.WGMMAAccumulatorRef((_PAGE, dim), jnp.float32))
            fetch(step + stages, values, v_held, v_here)
            summed = summed * lax.broadcast_in_dim(old, (_PAGE, dim), [0]) + more
            return total, best, summed

        nothing = (
            filled(0.0, (_PAGE,), tall),
            filled(-jnp.inf, (_PAGE,), tall),
            filled(0.0, (_PAGE, dim), gpu.Layout.WGMMA),
        )
        total, _, summed = lax.fori_loop(0, num, turn, nothing)
        total = jnp.where(total == 0.0, 1.0, total)
        summed = summed / lax.broadcast_in_dim(total, (_PAGE, dim), [0])
        held[...] = summed.astype(held.dtype)
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(held.at[pl.ds(0, lines)], out.at[row, head])
        gpu.wait_smem_to_gmem(0)

    tiled = (gpu.TilingTransform((8, 64)), gpu.SwizzleTransform(128))
    page = gpu.SMEM((stages, _PAGE, dim), keys.dtype, transforms=tiled)
    kernel = gpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct(q.shape, q.dtype),
        scratch_types=[
            gpu.SMEM((_PAGE, dim), q.dtype, transforms=tiled),
            page,
            page,
            gpu.Barrier(),
            gpu.Barrier(num_barriers=stages),
            gpu.Barrier(num_barriers=stages),
        ],
        grid=(rows, heads),
        grid_names=("row", "head"),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **({} if interpret is None else {"interpret": interpret}),
    )
    out: jax.Array = kernel(q, keys, values, tables, starts, lengths)
    return out
