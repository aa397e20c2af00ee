"""act(product + bias) of rows: kernels that compute it, and its gradient with the bias's sum.

XLA computes tanh by a polynomial, which takes longer than reading the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import LANES, is_hopper, log_choice, with_twin
from barrow.nn.layers.activations import Activation, gelu_tanh, quick_gelu

_GROUPS = 8  # columns of a block, in groups of lanes: 16 bytes for each thread
_TILE = 16  # rows of a block
_TWO_C = 2 * math.sqrt(2 / math.pi)


def _gelu_tanh(y: jax.Array) -> tuple[jax.Array, jax.Array]:
    half = 0.5 * (1 + jnp.tanh(0.5 * _TWO_C * y * (1 + 0.044715 * y * y)))
    return y * half, half + y * half * (1 - half) * (_TWO_C * (1 + 3 * 0.044715 * y * y))


def _quick_gelu(y: jax.Array) -> tuple[jax.Array, jax.Array]:
    half = 0.5 * (1 + jnp.tanh(0.851 * y))
    return y * half, half * (1 + 1.702 * y * (1 - half))


# Value and slope, from what a kernel has: tanh is one instruction.
_FORMULAS: dict[Activation, Callable[[jax.Array], tuple[jax.Array, jax.Array]]] = {
    gelu_tanh: _gelu_tanh,
    quick_gelu: _quick_gelu,
}


def has_kernel(shape: tuple[int, ...], dtype: Any, act: Activation) -> bool:
    """Whether `act_rows` takes rows of this shape and type here."""
    if len(shape) != 2 or act not in _FORMULAS or not is_hopper():
        return False
    fits = shape[0] % _TILE == 0 and shape[1] % (_GROUPS * LANES) == 0 and dtype == jnp.bfloat16
    log_choice("activation", shape, fits)
    return fits


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def act_rows(product: jax.Array, bias: jax.Array, act: Activation) -> jax.Array:
    """act(product + bias) of [rows, columns], for what `has_kernel` accepts.

    The backward pass computes the activation again from the product.
    """
    found: jax.Array = with_twin(kernel, plain, act)(product, bias)
    return found


def _forward(product: jax.Array, bias: jax.Array, act: Activation) -> tuple[jax.Array, Any]:
    return act_rows(product, bias, act), (product, bias)


def _backward(act: Activation, kept: Any, above: jax.Array) -> tuple[jax.Array, jax.Array]:
    product, bias = kept
    both = with_twin(gradient_kernel, plain_gradient, act)
    of_product, of_bias = both(product, bias, above)
    return of_product, of_bias.astype(bias.dtype)


act_rows.defvjp(_forward, _backward)


def plain(act: Activation, product: jax.Array, bias: jax.Array) -> jax.Array:
    """act(product + bias), in float32 inside."""
    y = product.astype(jnp.float32) + bias.astype(jnp.float32)
    return _FORMULAS[act](y)[0].astype(product.dtype)


def plain_gradient(
    act: Activation, product: jax.Array, bias: jax.Array, above: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Of the product, and of the bias in float32."""
    y = product.astype(jnp.float32) + bias.astype(jnp.float32)
    found = above.astype(jnp.float32) * _FORMULAS[act](y)[1]
    return found.astype(product.dtype), found.sum(axis=0)


def kernel(act: Activation, product: jax.Array, bias: jax.Array) -> jax.Array:
    """The same as `plain`."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    def body(x: Any, bias: Any, out: Any, held: Any, arrived: Any) -> None:
        rows, columns = _block()
        gpu.copy_gmem_to_smem(x.at[rows, columns], held, arrived)
        wide = gpu.Layout.WG_STRIDED((_GROUPS, LANES), vec_size=8)
        to = gpu.load(bias, (columns, slice(None)), layout=wide, optimized=False)
        gpu.barrier_wait(arrived)

        def one(i: Any, _: None) -> None:
            y = gpu.load(held, (i,), layout=wide).astype(jnp.float32) + to.astype(jnp.float32)
            held[i] = _FORMULAS[act](y)[0].astype(held.dtype)

        lax.fori_loop(0, _TILE, one, None)
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(held, out.at[rows, columns])
        gpu.wait_smem_to_gmem(0)

    rows, groups = product.shape[0], product.shape[1] // LANES
    made = gpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((rows, groups, LANES), product.dtype),
        scratch_types=[gpu.SMEM((_TILE, _GROUPS, LANES), product.dtype), gpu.Barrier()],
        grid=(rows // _TILE, groups // _GROUPS),
        grid_names=("row", "column"),
        compiler_params=gpu.CompilerParams(approx_math=True),
    )
    found = made(product.reshape(rows, groups, LANES), bias.reshape(groups, LANES))
    return found.reshape(product.shape)  # type: ignore[no-any-return]


def gradient_kernel(
    act: Activation, product: jax.Array, bias: jax.Array, above: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The same as `plain_gradient`: a block writes the sums of its rows, which XLA adds up."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    def body(
        x: Any, bias: Any, above: Any, out: Any, sums: Any, held: Any, given: Any, *rest: Any
    ) -> None:
        summed, arrived = rest
        rows, columns = _block()
        gpu.copy_gmem_to_smem(x.at[rows, columns], held, arrived)
        gpu.copy_gmem_to_smem(above.at[rows, columns], given, arrived)
        wide = gpu.Layout.WG_STRIDED((_GROUPS, LANES), vec_size=8)
        to = gpu.load(bias, (columns, slice(None)), layout=wide, optimized=False)
        gpu.barrier_wait(arrived)

        def one(i: Any, total: jax.Array) -> jax.Array:
            y = gpu.load(held, (i,), layout=wide).astype(jnp.float32) + to.astype(jnp.float32)
            found = gpu.load(given, (i,), layout=wide).astype(jnp.float32) * _FORMULAS[act](y)[1]
            held[i] = found.astype(held.dtype)
            return total + found

        zeros = gpu.layout_cast(jnp.full((_GROUPS, LANES), 0.0, jnp.float32), wide)
        summed[...] = lax.fori_loop(0, _TILE, one, zeros)
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(held, out.at[rows, columns])
        gpu.copy_smem_to_gmem(summed, sums.at[lax.axis_index("row"), columns])
        gpu.wait_smem_to_gmem(0)

    rows, groups = product.shape[0], product.shape[1] // LANES
    block = gpu.SMEM((_TILE, _GROUPS, LANES), product.dtype)
    made = gpu.kernel(
        body,
        out_type=(
            jax.ShapeDtypeStruct((rows, groups, LANES), product.dtype),
            jax.ShapeDtypeStruct((rows // _TILE, groups, LANES), jnp.float32),
        ),
        scratch_types=[
            block,
            block,
            gpu.SMEM((_GROUPS, LANES), jnp.float32),
            gpu.Barrier(num_arrivals=2),
        ],
        grid=(rows // _TILE, groups // _GROUPS),
        grid_names=("row", "column"),
        compiler_params=gpu.CompilerParams(approx_math=True),
    )
    shape = (rows, groups, LANES)
    found, sums = made(product.reshape(shape), bias.reshape(groups, LANES), above.reshape(shape))
    return found.reshape(product.shape), sums.sum(axis=0).reshape(-1)


def _block() -> tuple[Any, Any]:
    from jax.experimental import pallas as pl

    row, column = lax.axis_index("row"), lax.axis_index("column")
    return pl.ds(row * _TILE, _TILE), pl.ds(column * _GROUPS, _GROUPS)
