"""Softmax of long rows in one read and one write: a kernel for GPUs that hold a row on the chip.

XLA reads the row once for its highest number, once for the sum and once for the result.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import LANES, is_hopper, log_choice

_AT_A_TIME = 8  # groups of lanes: 16 bytes for each of a warpgroup's threads
_ON_CHIP = 220 << 10  # bytes of a row


def softmax_rows(x: jax.Array, weight: jax.Array, num: int) -> tuple[jax.Array, jax.Array]:
    """Softmax · weight of the first `num` columns of x [rows, columns], and their logsumexp.

    The result has x's type and is 0 in the other columns; the rest is float32.
    """
    y = x.astype(jnp.float32)
    y = y if num == x.shape[1] else jnp.where(jnp.arange(x.shape[1]) < num, y, -jnp.inf)
    norm = jax.nn.logsumexp(y, axis=-1)
    return (weight[:, None] * jnp.exp(y - norm[:, None])).astype(x.dtype), norm


def has_kernel(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether `softmax_kernel` takes rows of this shape and type here."""
    if not is_hopper():
        return False
    fits = 2 * _AT_A_TIME * LANES <= shape[1] <= _ON_CHIP // 2 and shape[1] % LANES == 0
    fits = fits and dtype == jnp.bfloat16
    log_choice("softmax", shape, fits)
    return fits


def softmax_kernel(
    x: jax.Array, weight: jax.Array, num: int, *, interpret: Any = None
) -> tuple[jax.Array, jax.Array]:
    """The same as `softmax_rows`, for what `has_kernel` accepts; the result is written over x."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, columns = x.shape
    groups = columns // LANES
    loops = (groups - 1) // _AT_A_TIME
    first, rest = loops * _AT_A_TIME, groups - loops * _AT_A_TIME
    # One copy has at most 256 entries along a dimension.
    part = max(size for size in range(1, 257) if groups % size == 0)
    parts = [pl.ds(at, part) for at in range(0, groups, part)]

    def of_row(x: Any, weight: Any, norm: Any, held: Any, arrived: Any) -> None:
        row = lax.axis_index("row")
        for at in parts:
            gpu.copy_gmem_to_smem(x.at[row, at], held.at[at], arrived)
        gpu.barrier_wait(arrived)
        wide = gpu.Layout.WG_STRIDED((_AT_A_TIME, LANES), vec_size=8)
        narrow = gpu.Layout.WG_STRIDED((rest, LANES), vec_size=1)

        def read(i: Any) -> jax.Array:
            at = (pl.ds(i * _AT_A_TIME, _AT_A_TIME), slice(None))
            found: jax.Array = gpu.load(held, at, layout=wide).astype(jnp.float32)
            return found

        def filled(value: float) -> jax.Array:
            same = jnp.full((_AT_A_TIME, LANES), value, jnp.float32)
            found: jax.Array = gpu.layout_cast(same, wide)
            return found

        last = gpu.load(held, (pl.ds(first, rest), slice(None)), layout=narrow)
        last = last.astype(jnp.float32)
        if num != columns:
            places = [
                gpu.broadcasted_iota(jnp.int32, (rest, LANES), dim, layout=narrow) for dim in (0, 1)
            ]
            is_real = places[0] * LANES + places[1] < num - first * LANES
            last = jnp.where(is_real, last, -jnp.inf)
        top = lax.fori_loop(0, loops, lambda i, m: jnp.maximum(m, read(i)), filled(-jnp.inf))
        highest = jnp.maximum(jnp.max(top), jnp.max(last))
        sums = lax.fori_loop(0, loops, lambda i, s: s + jnp.exp(read(i) - highest), filled(0.0))
        total = jnp.sum(sums) + jnp.sum(jnp.exp(last - highest))
        norm[row] = highest + jnp.log(total)
        scale = weight[row] / total

        def write(i: Any, _: None) -> None:
            at = pl.ds(i * _AT_A_TIME, _AT_A_TIME)
            held[at] = (jnp.exp(read(i) - highest) * scale).astype(held.dtype)

        lax.fori_loop(0, loops, write, None)
        held[pl.ds(first, rest)] = (jnp.exp(last - highest) * scale).astype(held.dtype)
        gpu.commit_smem()
        for at in parts:
            gpu.copy_smem_to_gmem(held.at[at], x.at[row, at])
        gpu.wait_smem_to_gmem(0)

    def body(*refs: Any) -> None:
        scratch = gpu.SMEM((groups, LANES), x.dtype), gpu.Barrier(num_arrivals=len(parts))
        pl.run_scoped(partial(of_row, *refs), *scratch)

    made = pl.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((rows,), jnp.float32),
        mesh=gpu.Mesh(grid=(rows,), grid_names=("row",)),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **({} if interpret is None else {"interpret": interpret}),
    )

    def run(refs: Any) -> None:
        over, norm = refs
        norm[...] = made(over, weight)

    grouped = x.reshape(rows, groups, LANES)
    out, norm = pl.run_state(run)((grouped, jnp.zeros(rows, jnp.float32)))
    return out.reshape(rows, columns), norm
