"""Kernels of the norm of rows and of its gradient, for Hopper GPUs.

Rows come to shared memory in tiles; each of a block's four warps computes a row at a time, so that
no sum over a row waits for another warp. Means and spreads of a tile are one row of `statistics`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import LANES

_WARPS = 4  # rows at a time
_GROUPS = 2  # groups of lanes at a time: 16 bytes for each thread
_BLOCKS = 256  # of a gradient: two for each of 132 multiprocessors
_LEAST = 32  # numbers: the least that is copied are 128 bytes


def tile_of(width: int) -> int:
    """Rows that are computed together."""
    return 8 if width <= 1024 else 4


def takes(rows: int, width: int) -> bool:
    """Whether the kernels take this shape."""
    return rows % tile_of(width) == 0 and width % (_GROUPS * LANES) == 0 and width <= 2048


def packed(mean: jax.Array, spread: jax.Array, width: int) -> jax.Array:
    """Statistics of each row [rows, 1] as the kernels keep them."""
    tile = tile_of(width)
    both = [x.astype(jnp.float32).reshape(-1, tile) for x in (mean, spread)]
    return jnp.pad(jnp.concatenate(both, axis=1), ((0, 0), (0, _padding(tile))))


def unpacked(statistics: jax.Array, width: int) -> tuple[jax.Array, jax.Array]:
    """Mean and spread of each row [rows, 1]."""
    tile = tile_of(width)
    return statistics[:, :tile].reshape(-1, 1), statistics[:, tile : 2 * tile].reshape(-1, 1)


def norm_kernel(
    eps: float,
    centred: bool,
    x: jax.Array,
    scale: jax.Array,
    *bias: jax.Array,
    interpret: Any = None,
) -> tuple[jax.Array, jax.Array]:
    """The norm of x and its statistics, in one read and one write."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, width = x.shape
    tile, groups = tile_of(width), width // LANES
    parts = _parts(groups)

    def body(x: Any, *refs: Any) -> None:
        affine, (out, statistics, held, found, arrived) = refs[:-5], refs[-5:]
        at = _rows(tile)
        gpu.copy_gmem_to_smem(x.at[at], held, arrived)
        by = [[_column(ref, part) for part in parts] for ref in affine]
        gpu.barrier_wait(arrived)

        def some(i: Any, _: None) -> None:
            at, at_spread = _four(i), _four(i, tile)
            ys = [_read(held, at, part) for part in parts]
            if centred:
                mean = _mean(ys, width)
                found[at] = mean
                ys = [y - _over_row(mean) for y in ys]
            spread = lax.rsqrt(_mean([y * y for y in ys], width) + eps)
            found[at_spread] = spread
            for k, (part, y) in enumerate(zip(parts, ys, strict=True)):
                y = y * _over_row(spread) * _over_rows(by[0][k])
                y = y + _over_rows(by[1][k]) if bias else y
                held[at, part] = y.astype(held.dtype)

        lax.fori_loop(0, tile // _WARPS, some, None)
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(held, out.at[at])
        gpu.copy_smem_to_gmem(found, statistics.at[lax.axis_index("row")])
        gpu.wait_smem_to_gmem(0)

    num = 2 * tile + _padding(tile)
    made = gpu.kernel(
        body,
        out_type=(
            jax.ShapeDtypeStruct((rows, groups, LANES), x.dtype),
            jax.ShapeDtypeStruct((rows // tile, num), jnp.float32),
        ),
        scratch_types=[
            gpu.SMEM((tile, groups, LANES), x.dtype),
            gpu.SMEM((num,), jnp.float32),
            gpu.Barrier(),
        ],
        grid=(rows // tile,),
        grid_names=("row",),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **_interpreted(interpret),
    )
    affine = [row.reshape(groups, LANES) for row in (scale, *bias)]
    y, statistics = made(x.reshape(rows, groups, LANES), *affine)
    return y.reshape(x.shape), statistics


def gradient_kernel(
    centred: bool,
    x: jax.Array,
    statistics: jax.Array,
    scale: jax.Array,
    above: jax.Array,
    *beside: jax.Array,
    interpret: Any = None,
) -> tuple[jax.Array, ...]:
    """Of x, with what is `beside` added; of scale and, `centred`, of bias in float32.

    Everything is read once; a block writes the sums of its rows, which XLA adds up. It computes
    several tiles, so that there are few such sums, and fetches the next one meanwhile.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, width = x.shape
    tile, groups = tile_of(width), width // LANES
    parts, num_sums = _parts(groups), 2 if centred else 1
    tiles = _tiles_of(rows // tile)

    def body(scale: Any, *refs: Any) -> None:
        num = len(beside) + 3
        inputs, (out, sums), held = refs[:num], refs[num : num + 2], refs[num + 2 : -5]
        summed, by_warp, by, scale_arrived, arrived = refs[-5:]
        *arrays, found = held
        first = lax.axis_index("row") * tiles
        gpu.copy_gmem_to_smem(scale, by, scale_arrived)
        gpu.barrier_wait(scale_arrived)
        zeros = jnp.full((_WARPS, _GROUPS, LANES), 0.0, jnp.float32)
        zeros = gpu.layout_cast(zeros, _wide())

        def some(slot: Any, i: Any, totals: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            at = _four(i)
            spread = _over_row(_scalars(found, slot, _four(i, tile)))
            mean = _over_row(_scalars(found, slot, at)) if centred else 0.0

            def read(part: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
                """Standardised x, the gradient from above, and the gradient of standardised x."""
                y = _read(arrays[0], slot, at, part)
                y = (y - mean) * spread if centred else y * spread
                given = _read(arrays[1], slot, at, part)
                return y, given, given * _over_rows(_column(by, part))

            def add(k: Any, held: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
                y, _, of_y = read(pl.ds(k * _GROUPS, _GROUPS))
                more = (y * of_y, of_y) if centred else (y * of_y,)
                return tuple(a + b for a, b in zip(held, more, strict=True))

            both = lax.fori_loop(0, len(parts), add, (zeros,) * num_sums)
            along, *middle = (_over_row(_mean([one], width)) for one in both)
            of_scale, of_bias = [], []
            for part in parts:  # read again: in registers there is no room for a row
                y, given, of_y = read(part)
                of_x = of_y - y * along
                of_x = (of_x - middle[0] if centred else of_x) * spread
                of_x = of_x + _read(arrays[2], slot, at, part) if beside else of_x
                arrays[0][slot, at, part] = of_x.astype(x.dtype)
                of_scale.append(given * y)
                of_bias.append(given)
            new = of_scale + of_bias if centred else of_scale
            return tuple(total + one for total, one in zip(totals, new, strict=True))

        def rows_of(number: Any) -> Any:
            return pl.ds((first + number) * tile, tile)

        def fetch(number: Any) -> None:
            slot = lax.rem(number, jnp.int32(2))
            for source, to in zip(inputs[:-1], arrays, strict=True):
                gpu.copy_gmem_to_smem(source.at[rows_of(number)], to.at[slot], arrived.at[slot])
            of_tile = inputs[-1].at[first + number]
            gpu.copy_gmem_to_smem(of_tile, found.at[slot], arrived.at[slot])

        def step(number: Any, totals: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            slot = lax.rem(number, jnp.int32(2))
            gpu.wait_smem_to_gmem(0, wait_read_only=True)  # of the last tile, from the other slot
            pl.when(number + 1 < tiles)(lambda: fetch(number + 1))
            gpu.barrier_wait(arrived.at[slot])
            totals = lax.fori_loop(0, tile // _WARPS, partial(some, slot), totals)
            gpu.commit_smem()
            gpu.copy_smem_to_gmem(arrays[0].at[slot], out.at[rows_of(number)])
            return totals

        fetch(jnp.int32(0))
        start = (zeros,) * (num_sums * len(parts))
        flat = gpu.Layout.WG_STRIDED((_GROUPS, LANES), vec_size=2)
        for k, total in enumerate(lax.fori_loop(0, tiles, step, start)):
            by_warp[...] = total
            gpu.commit_smem()
            one, two, three, four = (gpu.load(by_warp, (w,), layout=flat) for w in range(_WARPS))
            summed[k // len(parts), parts[k % len(parts)]] = (one + two) + (three + four)
            gpu.commit_smem()
        gpu.copy_smem_to_gmem(summed, sums.at[lax.axis_index("row")])
        gpu.wait_smem_to_gmem(0)

    made = gpu.kernel(
        body,
        out_type=(
            jax.ShapeDtypeStruct((rows, groups, LANES), x.dtype),
            jax.ShapeDtypeStruct((rows // tile // tiles, num_sums, groups, LANES), jnp.float32),
        ),
        scratch_types=[
            *[gpu.SMEM((2, tile, groups, LANES), x.dtype)] * (2 + len(beside)),
            gpu.SMEM((2, *statistics.shape[1:]), jnp.float32),
            gpu.SMEM((num_sums, groups, LANES), jnp.float32),
            gpu.SMEM((_WARPS, _GROUPS, LANES), jnp.float32),
            gpu.SMEM((groups, LANES), scale.dtype),
            gpu.Barrier(),
            gpu.Barrier(num_arrivals=3 + len(beside), num_barriers=2),
        ],
        grid=(rows // tile // tiles,),
        grid_names=("row",),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **_interpreted(interpret),
    )
    arrays = [array.reshape(rows, groups, LANES) for array in (x, above, *beside)]
    out, sums = made(scale.reshape(groups, LANES), *arrays, statistics)
    return out.reshape(rows, width), *sums.sum(axis=0).reshape(num_sums, width)


def _tiles_of(num: int) -> int:
    """How many of so many tiles a block computes."""
    return next(k for k in range(max(1, num // _BLOCKS), 0, -1) if num % k == 0)


def _wide() -> Any:
    """How a warpgroup holds [warps, groups, lanes]: a row in each warp."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    return gpu.Layout.TILED(gpu.Tiling(((_WARPS, _GROUPS, LANES), (8,))), (-4,), (-3, -2), -1)


def _padding(tile: int) -> int:
    return max(0, _LEAST - 2 * tile)


def _interpreted(interpret: Any) -> dict[str, Any]:
    return {} if interpret is None else {"interpret": interpret}


def _parts(groups: int) -> list[Any]:
    from jax.experimental import pallas as pl

    return [pl.ds(first, _GROUPS) for first in range(0, groups, _GROUPS)]


def _rows(tile: int) -> Any:
    from jax.experimental import pallas as pl

    return pl.ds(lax.axis_index("row") * tile, tile)


def _four(i: Any, after: int = 0) -> Any:
    from jax.experimental import pallas as pl

    return pl.ds(after + _WARPS * i, _WARPS)


def _read(ref: Any, *at: Any) -> jax.Array:
    from jax.experimental.pallas import mosaic_gpu as gpu

    found: jax.Array = gpu.load(ref, at, layout=_wide(), optimized=False)
    return found.astype(jnp.float32)


def _scalars(ref: Any, *at: Any) -> jax.Array:
    from jax.experimental.pallas import mosaic_gpu as gpu

    found: jax.Array = gpu.load(ref, at, layout=_wide().reduce((1, 2)), optimized=False)
    return found


def _column(ref: Any, part: Any) -> jax.Array:
    from jax.experimental.pallas import mosaic_gpu as gpu

    found: jax.Array = gpu.load(ref, (part,), layout=_wide().reduce(0), optimized=False)
    return found.astype(jnp.float32)


def _over_row(x: jax.Array) -> jax.Array:
    """A number of each row, for all its columns."""
    return _spread(x, (0,))


def _over_rows(x: jax.Array) -> jax.Array:
    """A number of each column, for all rows."""
    return _spread(x, (1, 2))


def _spread(x: jax.Array, dims: tuple[int, ...]) -> jax.Array:
    from jax.experimental.pallas import mosaic_gpu as gpu

    found = lax.broadcast_in_dim(x, (_WARPS, _GROUPS, LANES), dims)
    return gpu.layout_cast(found, _wide())  # type: ignore[no-any-return]


def _mean(parts: list[jax.Array], width: int) -> jax.Array:
    """Of each row, over all its parts."""
    return sum(parts[1:], parts[0]).sum(axis=2).sum(axis=1) / width
