"""act(x·W + bias) in one kernel: a matrix product that ends in its activation.

cuBLAS ends with tanh-GELU only; with others XLA writes the product, reads it and writes again.
Only without a gradient: that one needs the product.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.dot import dot
from barrow.nn.hopper import is_hopper, log_choice, with_twin
from barrow.nn.layers import act_rows
from barrow.nn.layers.activations import Activation, quick_gelu
from barrow.nn.layers.remat import HIDDEN, named

_DEPTH = 64  # of a step: 128 bytes of a line
_TILE = 128  # lines and columns of a warpgroup; a block has two, one below the other
_PART = 64  # lines and columns that are written at a time
_STEPS = 4  # on their way
_WIDTH = 8  # columns of blocks before the next line of them
_LEAST = 8192  # rows: fewer do not fill the chip

# Where it was faster: erf takes so long that it is better done beside the next product.
_PAYS = (quick_gelu,)


def has_kernel(x: jax.Array, weight: Any, act: Activation) -> bool:
    """Whether `act_product` takes these here."""
    if act not in _PAYS or x.ndim != 2 or not is_hopper() or not isinstance(weight, jax.Array):
        return False
    rows, inner = x.shape
    fits = weight.ndim == 2 and rows >= _LEAST and rows % (2 * _TILE) == 0
    fits = fits and weight.shape[1] % _TILE == 0 and inner % _DEPTH == 0 and inner >= 256
    fits = (
        fits
        and x.dtype == jnp.bfloat16
        and act_rows.has_kernel((rows, weight.shape[1]), x.dtype, act)
    )
    log_choice("product with its activation", (rows, *weight.shape), fits)
    return fits


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def act_product(x: jax.Array, weight: jax.Array, bias: jax.Array, act: Activation) -> jax.Array:
    """act(x·weight + bias) of x [rows, inner], for what `has_kernel` accepts."""
    found: jax.Array = with_twin(kernel, plain, act)(x, weight.astype(x.dtype), bias)
    return found


def _forward(
    x: jax.Array, weight: jax.Array, bias: jax.Array, act: Activation
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    product = named(dot(x, weight), HIDDEN)
    return act_rows.act_rows(product, bias, act), (x, weight, product, bias)


def _backward(act: Activation, kept: tuple[jax.Array, ...], above: jax.Array) -> Any:
    x, weight, product, bias = kept
    of_product, of_bias = act_rows.gradient(act, (product, bias), above)
    of_x, of_weight = jax.vjp(dot, x, weight)[1](of_product)
    return of_x, of_weight, of_bias


act_product.defvjp(_forward, _backward)


def plain(act: Activation, x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """The same by XLA."""
    y = jnp.dot(x, weight, preferred_element_type=jnp.float32)
    return act_rows.FORMULAS[act](y + bias.astype(jnp.float32))[0].astype(x.dtype)


def kernel(act: Activation, x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """The same as `plain`: a third warpgroup copies what the two multiply next."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    (rows, inner), columns = x.shape, weight.shape[1]
    counts = (rows // (2 * _TILE), columns // _TILE)
    tiled = (gpu.TilingTransform((8, _DEPTH)), gpu.SwizzleTransform(128))
    spec: dict[str, Any] = {"transforms": tiled, "memory_space": gpu.SMEM}

    def pipeline(body: Any, context: Any) -> Any:
        return gpu.emit_pipeline_warp_specialized(
            body,
            grid=(inner // _DEPTH,),
            memory_registers=40,
            in_specs=[
                gpu.BlockSpec((2 * _TILE, _DEPTH), lambda k: (0, k), **spec),
                gpu.BlockSpec((_DEPTH, _TILE), lambda k: (k, 0), **spec),
            ],
            wg_axis="group",
            num_compute_wgs=2,
            max_concurrent_steps=_STEPS,
            compute_context=context,
        )

    def nothing(*_: Any, **__: Any) -> None:
        return None

    def finish(sums: Any, bias: Any, out: Any, held: Any, row: Any, column: Any) -> None:
        """Writes act(sums + bias) in parts, two of them on their way."""
        found = sums[...]
        parts = [(i, j) for j in range(0, _TILE, _PART) for i in range(0, _TILE, _PART)]
        for number, (i, j) in enumerate(parts):
            at = pl.ds(column + j, _PART)
            to = gpu.load(bias, (at,), layout=gpu.Layout.WGMMA.reduce(0), optimized=False)
            to = lax.broadcast_in_dim(to.astype(jnp.float32), (_PART, _PART), [1])
            y = act_rows.FORMULAS[act](found[i : i + _PART, j : j + _PART] + to)[0]
            gpu.wait_smem_to_gmem(1, wait_read_only=True)
            held[number % 2] = y.astype(out.dtype)
            gpu.commit_smem()
            gpu.copy_smem_to_gmem(held.at[number % 2], out.at[pl.ds(row + i, _PART), at])

    def body(x: Any, weight: Any, bias: Any, out: Any) -> None:
        def scoped(buffers: Any, held: Any) -> None:
            group = lax.axis_index("group")

            @gpu.nd_loop((counts[0] * counts[1],), collective_axes="block")
            def _(loop: Any) -> None:
                row, column = gpu.planar_snake(loop.index[0], counts, 1, _WIDTH)
                row, column = row * 2 * _TILE, column * _TILE

                def context(run: Any) -> None:
                    def sum_up(sums: Any) -> None:
                        run(sums)
                        finish(sums, bias, out, held.at[group], row + group * _TILE, column)

                    pl.run_scoped(sum_up, gpu.WGMMAAccumulatorRef((_TILE, _TILE), jnp.float32))

                def step(_: Any, x: Any, weight: Any, sums: Any) -> Any:
                    gpu.wgmma(sums, x.at[pl.ds(group * _TILE, _TILE)], weight)
                    gpu.wgmma_wait(0)
                    return sums

                here = pl.ds(row, 2 * _TILE), pl.ds(column, _TILE)
                run = pipeline(step, context)
                run(x.at[here[0], :], weight.at[:, here[1]], allocations=buffers)

            gpu.wait_smem_to_gmem(0, wait_read_only=True)

        pl.run_scoped(
            scoped,
            buffers=pipeline(nothing, nothing).get_allocations(x, weight),
            held=gpu.SMEM((2, 2, _PART, _PART), out.dtype, transforms=tiled),
            collective_axes="group",
        )

    made = gpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        grid=(int(getattr(jax.local_devices()[0], "core_count", 132)),),
        grid_names=("block",),
        num_threads=3,
        thread_name="group",
        compiler_params=gpu.CompilerParams(approx_math=True),
    )
    found: jax.Array = made(x, weight, bias)
    return found
