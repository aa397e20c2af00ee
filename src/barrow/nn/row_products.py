"""Products of a few rows with weights, fused with norm, bias, activation and residual.

For one token the time is that of reading the weights and of starting kernels: on an H200 about 2 µs
each. So the norm before a product is computed again by every block (a row is short), and bias,
activation and residual are added before the result is written. Weights are read as they are held:
bfloat16, int8 or 4 bits. The plain form (`plain`) is the definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import is_hopper, log_choice, with_twin
from barrow.nn.layers.activations import Activation, gelu_tanh, quick_gelu, relu, silu

GROUP = 64  # inputs that share a scale, of 4 bits
_MOST = 4  # rows; of more, arithmetic takes longer than reading the weights
_WIDE = 128  # inputs of a tile
_CHUNK = 2048  # inputs on their way at a time
_ACTIVATIONS = (None, gelu_tanh, quick_gelu, relu, silu)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Held:
    """A weight [outputs, inputs]: bfloat16; or int8 with `scales` [outputs]; or 4 bits.

    Of 4 bits (0…15, which mean −8…7) `values` are uint32 [outputs, groups, 8] and `scales`
    [outputs, groups]: bits 4i to 4i + 3 of word j are number 8i + j of a group of 64.
    """

    values: jax.Array
    scales: jax.Array | None = None

    @property
    def bits(self) -> int:
        """Of a number."""
        return 4 if self.values.ndim == 3 else 8 * self.values.dtype.itemsize


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("scale", "bias"),
    meta_fields=("eps", "is_centred"),
)
@dataclass(frozen=True)
class Norm:
    """A layer norm, or, where it is not centred, an RMS norm; see `nn.LayerNorm`, `nn.RMSNorm`."""

    scale: jax.Array
    bias: jax.Array | None
    eps: float
    is_centred: bool


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Around:
    """What is fused with products: a norm of x, a bias for each, a residual of each row."""

    norm: Norm | None = None
    biases: tuple[jax.Array, ...] = ()
    residual: jax.Array | None = None


NOTHING = Around()


def row_products(
    x: jax.Array,
    weights: tuple[Held, ...],
    around: Around = NOTHING,
    *,
    act: Activation | None = None,
    is_gated: bool = False,
) -> tuple[jax.Array, ...]:
    """act(norm(x)·Wᵀ + bias) + residual of rows [rows, inputs], for each weight.

    Gated, of two weights: act(first) ∘ second.
    """
    shape = (len(x), x.shape[1], *(len(w.values) for w in weights))
    fits = has_kernel(x.shape, x.dtype, weights, act)
    log_choice("product of rows", shape, fits)
    twin = partial(plain, act=act, is_gated=is_gated)
    call = with_twin(partial(_kernel, act=act, is_gated=is_gated), twin) if fits else twin
    found: tuple[jax.Array, ...] = call(x, weights, around)
    return found


def plain(
    x: jax.Array,
    weights: tuple[Held, ...],
    around: Around = NOTHING,
    *,
    act: Activation | None = None,
    is_gated: bool = False,
) -> tuple[jax.Array, ...]:
    """The definition; what follows the products is float32."""
    y = x
    if (norm := around.norm) is not None:
        y = x.astype(jnp.float32)
        y = y - jnp.mean(y, axis=-1, keepdims=True) if norm.is_centred else y
        y = y * lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + norm.eps)
        y = y * norm.scale.astype(jnp.float32)
        y = y if norm.bias is None else y + norm.bias.astype(jnp.float32)
        y = y.astype(x.dtype)

    def product(number: int) -> jax.Array:
        values, scales = expanded(weights[number], x.dtype)
        sums: jax.Array = lax.dot_general(y, values, (((1,), (1,)), ((), ()))).astype(jnp.float32)
        sums = sums if scales is None else sums * scales
        return sums + around.biases[number] if around.biases else sums

    made = [product(number) for number in range(len(weights))]
    made = (
        [made[0] if act is None else act(made[0]), *made[1:]]
        if is_gated
        else [z if act is None else act(z) for z in made]
    )
    made = [made[0] * made[1]] if is_gated else made
    made = made if around.residual is None else [z + around.residual for z in made]
    return tuple(z.astype(x.dtype) for z in made)


def expanded(held: Held, dtype: Any) -> tuple[jax.Array, jax.Array | None]:
    """Values [outputs, inputs] as a floating type, and scales that outputs still need."""
    if held.bits != 4:
        return held.values.astype(dtype), held.scales
    assert held.scales is not None
    shifts = 4 * jnp.arange(8, dtype=jnp.uint32)[:, None]
    numbers = (held.values[:, :, None] >> shifts & 15).astype(jnp.int8) - 8
    wide = numbers.astype(dtype) * held.scales.astype(dtype)[..., None, None]
    return wide.reshape(len(wide), -1), None


def has_kernel(
    shape: tuple[int, ...], dtype: Any, weights: tuple[Held, ...], act: Activation | None = None
) -> bool:
    """Whether there is a kernel here for rows of this shape and type and these weights."""
    rows, width = shape
    fits = rows <= _MOST and width % _WIDE == 0 and dtype == jnp.bfloat16 and act in _ACTIVATIONS
    held = all(w.bits < 32 and len(w.values) >= 64 and w.bits == weights[0].bits for w in weights)
    return fits and held and is_hopper()


def _kernel(
    x: jax.Array,
    weights: tuple[Held, ...],
    around: Around,
    *,
    act: Activation | None,
    is_gated: bool,
    interpret: Any = None,
) -> tuple[jax.Array, ...]:
    """The same as `plain`. A block has a few outputs, and a thread 16 bytes of each tile.

    The last block of a weight starts earlier where outputs do not divide: it computes some again.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, width = x.shape
    bits = weights[0].bits
    line: tuple[int, ...] = (width // GROUP, 8, 8) if bits == 4 else (width,)
    layout, height = _tiles(bits, width)
    across, along = layout.reduce(0), layout.reduce((1, 2) if bits == 4 else (1,))
    outputs = [len(weight.values) for weight in weights]
    results = outputs[:1] if is_gated else outputs
    counts = [-(-num // height) for num in results]
    norm = around.norm

    def read(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return gpu.load(ref, at, layout=how, optimized=False)

    def wide(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return read(ref, at, how).astype(jnp.float32)

    def spread(value: Any, shape: tuple[int, ...], dims: list[int]) -> Any:
        return gpu.layout_cast(lax.broadcast_in_dim(value, shape, dims), layout)

    def fetched(weight: Held, at: Any, start: int) -> tuple[jax.Array, ...]:
        size = min(_CHUNK, width - start)
        if bits != 4:
            return (read(weight.values, (at, pl.ds(start, size)), layout),)
        groups = pl.ds(start // GROUP, size // GROUP)
        scales = read(weight.scales, (at, groups), layout.reduce(2))
        return read(weight.values, (at, groups), layout), scales

    def summed(x: Any, row: int, start: int, held: tuple[Any, ...]) -> Any:
        """Of one row and the inputs from `start` on: a sum for each output."""
        size = min(_CHUNK, width - start)
        if bits != 4:
            values = held[0].astype(jnp.float32)
            by = wide(x, (row, pl.ds(start, size)), across)
            return (values * spread(by, values.shape, [1])).sum(axis=1)
        words, scales = held
        total: Any = None
        offset: Any = None
        for i in range(8):
            # Four bits as the first of a mantissa: 1 + n / 16, without a conversion.
            shift = 19 - 4 * i
            bits_of = words << jnp.uint32(shift) if shift > 0 else words >> jnp.uint32(-shift)
            bits_of = bits_of & jnp.uint32(15 << 19) | jnp.uint32(127 << 23)
            number = lax.bitcast_convert_type(bits_of, jnp.float32)
            by = 16 * wide(x, (row, pl.ds(start // GROUP, size // GROUP), i), across)
            more = number * spread(by, words.shape, [1, 2])
            total = more if total is None else total + more
            offset = by if offset is None else offset + by
        # 16 of them are 16 + n, where n − 8 is meant.
        total = total - spread(1.5 * offset, words.shape, [1, 2])
        total = total * spread(scales.astype(jnp.float32), words.shape, [0, 1])
        return total.sum(axis=1).sum(axis=1)

    def normed(norm: Norm, given: Any, here: Any) -> None:
        each = next(size for size in (8, 4, 2, 1) if width // _WIDE % size == 0)
        whole = gpu.Layout.WG_STRIDED(line, vec_size=each)
        for row in range(rows):
            y = wide(given["x"], (row,), whole)
            y = y - jnp.sum(y) / width if norm.is_centred else y
            y = y * lax.rsqrt(jnp.sum(y * y) / width + norm.eps)
            y = y * wide(given["scale"], (), whole)
            y = y if norm.bias is None else y + wide(given["shift"], (), whole)
            here[row] = y.astype(here.dtype)

    def body(*refs: Any) -> None:
        given = jax.tree.unflatten(tree, refs[: len(flat)])
        outs = refs[len(flat) : len(flat) + len(results)]
        rows_of = given["x"] if norm is None else refs[-1]
        block = lax.axis_index("block")

        def one(number: int, first: int) -> None:
            start = jnp.minimum((block - first) * height, results[number] - height)
            at = pl.ds(start, height)
            held = given["weights"] if is_gated else [given["weights"][number]]
            begun = [fetched(weight, at, 0) for weight in held]  # before the norm
            if norm is not None:
                normed(norm, given, refs[-1])
            made: list[list[Any]] = []
            for weight, near in zip(held, begun, strict=True):
                sums = [summed(rows_of, row, 0, near) for row in range(rows)]
                for place in range(_CHUNK, width, _CHUNK):
                    far = fetched(weight, at, place)
                    sums = [s + summed(rows_of, row, place, far) for row, s in enumerate(sums)]
                made.append(sums)
            for row in range(rows):
                ys = []
                for i, weight in enumerate(held):
                    y = made[i][row]
                    y = y * wide(weight.scales, (at,), along) if bits == 8 else y
                    if given["biases"]:
                        y = y + wide(given["biases"][i if is_gated else number], (at,), along)
                    ys.append(y)
                y = ys[0] if act is None else act(ys[0])
                y = y * ys[1] if is_gated else y
                if given["residual"] is not None:
                    y = y + wide(given["residual"], (row, at), along)
                outs[number][row, at] = y.astype(outs[number].dtype)

        if len(counts) == 1:
            one(0, 0)
            return
        first = 0
        for number, count in enumerate(counts):
            is_mine = (block >= first) & (block < first + count)
            pl.when(is_mine)(partial(one, number, first))
            first += count

    arrays = {
        "x": x.reshape(rows, *line),
        "scale": None if norm is None else norm.scale.reshape(line),
        "shift": None if norm is None or norm.bias is None else norm.bias.reshape(line),
        "weights": list(weights),
        "biases": list(around.biases),
        "residual": around.residual,
    }
    flat, tree = jax.tree.flatten(arrays)
    body.__name__ = f"product_{rows}x{width}x{sum(results)}"  # as profiles show it
    made = gpu.kernel(
        body,
        out_type=tuple(jax.ShapeDtypeStruct((rows, num), x.dtype) for num in results),
        scratch_types=[] if norm is None else [gpu.SMEM((rows, *line), x.dtype)],
        grid=(sum(counts),),
        grid_names=("block",),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **({} if interpret is None else {"interpret": interpret}),
    )
    found: tuple[jax.Array, ...] = made(*flat)
    return found


def _tiles(bits: int, width: int) -> tuple[Any, int]:
    """How four warps hold tiles of a weight, and the outputs of a tile.

    A thread has 16 bytes of a tile, and neighbours have neighbours, of 128 inputs or 2 or 4 groups.
    """
    from jax.experimental.mosaic.gpu.fragmented_array import Tiling
    from jax.experimental.pallas import mosaic_gpu as gpu

    if bits == 4:
        groups = 4 if width % (4 * GROUP) == 0 else 2
        each = 16 // groups
        tiling = Tiling(((4 * each, groups, 8), (each, groups, 8), (4,)))
        lanes: tuple[int, ...] = (-4, -3, -2)
        return _layout(gpu, tiling, -7, lanes), 4 * each
    vector = 128 // bits
    each = 32 * vector // _WIDE
    tiling = Tiling(((4 * each, _WIDE), (each, _WIDE), (vector,)))
    return _layout(gpu, tiling, -5, (-3, -2)), 4 * each


def _layout(gpu: Any, tiling: Any, warps: int, lanes: tuple[int, ...]) -> Any:
    return gpu.Layout.TILED(tiling, warp_dims=(warps,), lane_dims=lanes, vector_dim=-1)
