"""act(x·W + bias) in one kernel: a matrix product that ends in its activation.

cuBLAS ends with tanh-GELU only; for others XLA writes the product, reads it and writes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.layers.act_rows import FORMULAS
from barrow.nn.layers.activations import Activation

_DEPTH = 64  # of a step: 128 bytes of a line
_PART = 64  # lines and columns that are written at a time


@dataclass(frozen=True)
class Tiles:
    """Lines and columns of a warpgroup; two of them share lines, or columns (`tall`).

    `steps` are on their way; `width` columns of tiles are done before the next.
    """

    lines: int = 128
    columns: int = 128
    tall: bool = False
    steps: int = 4
    width: int = 8
    minor: int = 1


def kernel(
    act: Activation, x: jax.Array, weight: jax.Array, bias: jax.Array, tiles: Tiles = Tiles()
) -> jax.Array:
    """Of x [rows, inner], weight [inner, columns] and bias [columns]."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    (rows, inner), columns = x.shape, weight.shape[1]
    block = (tiles.lines * (1 + tiles.tall), tiles.columns * (2 - tiles.tall))
    assert rows % block[0] == 0
    assert columns % block[1] == 0
    assert inner % _DEPTH == 0
    tiled = (gpu.TilingTransform((8, _DEPTH)), gpu.SwizzleTransform(128))
    spec = {"transforms": tiled, "memory_space": gpu.SMEM}

    def pipeline(body: Any, context: Any) -> Any:
        return gpu.emit_pipeline_warp_specialized(
            body,
            grid=(inner // _DEPTH,),
            memory_registers=40,
            in_specs=[
                gpu.BlockSpec((block[0], _DEPTH), lambda k: (0, k), **spec),
                gpu.BlockSpec((_DEPTH, block[1]), lambda k: (k, 0), **spec),
            ],
            wg_axis="group",
            num_compute_wgs=2,
            max_concurrent_steps=tiles.steps,
            compute_context=context,
        )

    def nothing(*_: Any, **__: Any) -> None:
        return None

    def body(x: Any, weight: Any, bias: Any, out: Any) -> None:
        def scoped(buffers: Any, held: Any) -> None:
            group = lax.axis_index("group")

            @gpu.nd_loop((rows // block[0] * (columns // block[1]),), collective_axes="block")
            def _(loop: Any) -> None:
                counts = (rows // block[0], columns // block[1])
                row, column = gpu.planar_snake(loop.index[0], counts, tiles.minor, tiles.width)
                row_at, column_at = row * block[0], column * block[1]
                my_row = row_at + (group * tiles.lines if tiles.tall else 0)
                my_column = column_at + (0 if tiles.tall else group * tiles.columns)
                my_lines = pl.ds(group * tiles.lines, tiles.lines) if tiles.tall else slice(None)
                my_columns = (
                    slice(None) if tiles.tall else pl.ds(group * tiles.columns, tiles.columns)
                )

                def context(run: Any) -> None:
                    def sum_up(sums: Any) -> None:
                        run(sums)
                        found = sums[...]
                        number = 0
                        for j in range(0, tiles.columns, _PART):
                            at = pl.ds(my_column + j, _PART)
                            layout = gpu.Layout.WGMMA
                            to = gpu.load(bias, (at,), layout=layout.reduce(0), optimized=False)
                            to = lax.broadcast_in_dim(
                                to.astype(jnp.float32), (_PART, _PART), [1]
                            )
                            for i in range(0, tiles.lines, _PART):
                                y = found[i : i + _PART, j : j + _PART] + to
                                y = FORMULAS[act](y)[0].astype(out.dtype)
                                slot = number % 2
                                gpu.wait_smem_to_gmem(1, wait_read_only=True)
                                held[group, slot] = y
                                gpu.commit_smem()
                                gpu.copy_smem_to_gmem(
                                    held.at[group, slot], out.at[pl.ds(my_row + i, _PART), at]
                                )
                                number += 1

                    shape = (tiles.lines, tiles.columns)
                    pl.run_scoped(sum_up, gpu.WGMMAAccumulatorRef(shape, jnp.float32))

                def step(_: Any, x: Any, weight: Any, sums: Any) -> Any:
                    gpu.wgmma(sums, x.at[my_lines], weight.at[:, my_columns])
                    gpu.wgmma_wait(0)
                    return sums

                pipeline(step, context)(
                    x.at[pl.ds(row_at, block[0]), :],
                    weight.at[:, pl.ds(column_at, block[1])],
                    allocations=buffers,
                )

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
        grid=(_num_blocks(),),
        grid_names=("block",),
        num_threads=3,
        thread_name="group",
        compiler_params=gpu.CompilerParams(approx_math=True),
    )
    found: jax.Array = made(x, weight, bias)
    return found


def _num_blocks() -> int:
    """One for each multiprocessor."""
    return int(getattr(jax.local_devices()[0], "core_count", 132))
