"""The norm of rows, with a gradient written for GPUs.

It keeps x in its own type and two numbers for each row. The gradients of scale and bias are then
sums of what is computed from these on the way: the derivative of the plain formula has XLA write
and read a float32 array of x's size for them. A kernel reads everything once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import LANES, is_hopper, log_choice, rows_layout, with_twin
from barrow.nn.layers.remat import STATISTICS, named

_TILE = 16  # rows of a block; means and spreads of them are 128 bytes, the least that is copied


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def norm_rows(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float
) -> jax.Array:
    """(x − mean) / √(variance + eps) · scale + bias of rows [rows, width]; float32 inside."""
    return _forward(x, scale, bias, eps)[0]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def norm_beside(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float
) -> tuple[jax.Array, jax.Array]:
    """First x, then `norm_rows` of it: a residual's gradient is added in the norm's own pass."""
    return x, _forward(x, scale, bias, eps)[0]


def _forward(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float
) -> tuple[jax.Array, tuple[Any, ...]]:
    y = x.astype(jnp.float32)
    mean = named(jnp.mean(y, axis=-1, keepdims=True), STATISTICS)
    y = y - mean
    spread = named(lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + eps), STATISTICS)
    y = y * spread
    y = y if scale is None else y * scale.astype(jnp.float32)
    y = y if bias is None else y + bias.astype(jnp.float32)
    return y.astype(x.dtype), (x, mean, spread, scale, bias)


def _forward_beside(
    x: jax.Array, scale: jax.Array | None, bias: jax.Array | None, eps: float
) -> tuple[tuple[jax.Array, jax.Array], tuple[Any, ...]]:
    y, kept = _forward(x, scale, bias, eps)
    return (x, y), kept


def _backward(eps: float, kept: tuple[Any, ...], above: jax.Array) -> Any:
    del eps
    return _gradient(kept, above)


def _backward_beside(eps: float, kept: tuple[Any, ...], given: tuple[jax.Array, jax.Array]) -> Any:
    del eps
    return _gradient(kept, given[1], given[0])


norm_rows.defvjp(_forward, _backward)
norm_beside.defvjp(_forward_beside, _backward_beside)


def _gradient(
    kept: tuple[Any, ...], above: jax.Array, *beside: jax.Array
) -> tuple[jax.Array, jax.Array | None, jax.Array | None]:
    x, mean, spread, scale, bias = kept
    if scale is not None and bias is not None and has_kernel(x.shape, x.dtype):
        both = with_twin(gradient_kernel, plain_gradient)
        of_x, of_scale, of_bias = both(x, mean, spread, scale, above, *beside)
    else:
        of_x, of_scale, of_bias = plain_gradient(x, mean, spread, scale, above, *beside)
    return (
        of_x,
        None if scale is None else of_scale.astype(scale.dtype),
        None if bias is None else of_bias.astype(bias.dtype),
    )


def plain_gradient(
    x: jax.Array,
    mean: jax.Array,
    spread: jax.Array,
    scale: jax.Array | None,
    above: jax.Array,
    *beside: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Of x, with what is `beside` added; of scale and of bias in float32."""
    y = (x.astype(jnp.float32) - mean) * spread
    of_y = above.astype(jnp.float32)
    of_y = of_y if scale is None else of_y * scale.astype(jnp.float32)
    of_x = of_y - jnp.mean(of_y, axis=-1, keepdims=True)
    of_x = of_x - y * jnp.mean(of_y * y, axis=-1, keepdims=True)
    of_x = (of_x * spread).astype(x.dtype)
    of_x = of_x + beside[0] if beside else of_x
    # After the barrier, or XLA computes y once for both and writes it in float32.
    x, mean, spread, above = lax.optimization_barrier((x, mean, spread, above))
    above = above.astype(jnp.float32)
    y = (x.astype(jnp.float32) - mean) * spread
    return of_x, (above * y).sum(axis=0), above.sum(axis=0)


def has_kernel(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether `gradient_kernel` takes rows of this shape and type here."""
    if not is_hopper():
        return False
    fits = shape[0] % _TILE == 0 and shape[1] % LANES == 0 and shape[1] <= 2048
    fits = fits and dtype == jnp.bfloat16
    log_choice("gradient of a norm", shape, fits)
    return fits


def gradient_kernel(
    x: jax.Array,
    mean: jax.Array,
    spread: jax.Array,
    scale: jax.Array,
    above: jax.Array,
    *beside: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The same as `plain_gradient`: a block writes the sums of its rows, which XLA adds up."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, width = x.shape
    groups = width // LANES
    wide = rows_layout(groups)

    def body(scale: Any, *refs: Any) -> None:
        num = len(beside) + 3
        inputs, (out, sums), held = refs[:num], refs[num : num + 2], refs[num + 2 : -2]
        summed, arrived = refs[-2:]
        block = lax.axis_index("row")
        at = pl.ds(block * _TILE, _TILE)
        for source, to in zip(inputs[:-1], held[:-1], strict=True):
            gpu.copy_gmem_to_smem(source.at[at], to, arrived)
        gpu.copy_gmem_to_smem(inputs[-1].at[block], held[-1], arrived)
        by = gpu.load(scale, (), layout=wide, optimized=False).astype(jnp.float32)
        gpu.barrier_wait(arrived)
        statistics = held[-1]

        def read(ref: Any, i: Any) -> jax.Array:
            return gpu.load(ref, (i,), layout=wide).astype(jnp.float32)

        def one(i: Any, total: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            spread = statistics[_TILE + i]
            y = (read(held[0], i) - statistics[i]) * spread
            given = read(held[1], i)
            of_y = given * by
            of_x = of_y - y * (jnp.sum(of_y * y) / width) - jnp.sum(of_y) / width
            of_x = of_x * spread
            of_x = of_x + read(held[2], i) if beside else of_x
            held[0][i] = of_x.astype(held[0].dtype)
            return total[0] + given * y, total[1] + given

        zeros = gpu.layout_cast(jnp.full((groups, LANES), 0.0, jnp.float32), wide)
        summed[0], summed[1] = lax.fori_loop(0, _TILE, one, (zeros, zeros))
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(held[0], out.at[at])
        gpu.copy_smem_to_gmem(summed, sums.at[block])
        gpu.wait_smem_to_gmem(0)

    made = gpu.kernel(
        body,
        out_type=(
            jax.ShapeDtypeStruct((rows, groups, LANES), x.dtype),
            jax.ShapeDtypeStruct((rows // _TILE, 2, groups, LANES), jnp.float32),
        ),
        scratch_types=[
            *[gpu.SMEM((_TILE, groups, LANES), x.dtype)] * (2 + len(beside)),
            gpu.SMEM((2 * _TILE,), jnp.float32),
            gpu.SMEM((2, groups, LANES), jnp.float32),
            gpu.Barrier(num_arrivals=3 + len(beside)),
        ],
        grid=(rows // _TILE,),
        grid_names=("row",),
        compiler_params=gpu.CompilerParams(approx_math=True),
    )
    shape = (rows, groups, LANES)
    statistics = jnp.concatenate([mean.reshape(-1, _TILE), spread.reshape(-1, _TILE)], axis=1)
    arrays = [array.reshape(shape) for array in (x, above, *beside)]
    out, sums = made(scale.reshape(groups, LANES), *arrays, statistics)
    of_scale, of_bias = sums.sum(axis=0).reshape(2, width)
    return out.reshape(rows, width), of_scale, of_bias
