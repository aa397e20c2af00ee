"""Products of a few rows with weights, fused with norm, bias, activation and residual.

For one token the time is that of reading the weights and of starting kernels: on an H200 about 2 µs
each. So the norm before a product is computed again by every block (a row is short), and bias,
activation and residual are added before the result is written. Weights are read as they are held:
bfloat16, int8 or 4 bits. The plain form (`plain`) is the definition.
"""

from __future__ import annotations

from collections.abc import Callable
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
_PART = 12 << 10  # bytes that are copied at a time, at least
_BLOCKS = 3 * 132  # three on each multiprocessor
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
    size = 256 if weights[0].bits == 4 else 128
    fits = rows <= _MOST and width % size == 0 and dtype == jnp.bfloat16 and act in _ACTIVATIONS
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
    """The same as `plain`. A block takes tiles of some outputs, in pieces that are on their way.

    The last tile of a weight starts earlier where outputs do not divide: some are computed twice.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, width = x.shape
    bits, norm = weights[0].bits, around.norm
    layout, height, size = _tiles(bits)
    across, along = layout.reduce(0), layout.reduce((1, 2) if bits == 4 else (1,))
    pieces, stages = _pieces(width // size, height * size * bits // 8)
    spans = width // size // pieces
    parts = spans * (2 if is_gated else 1)  # of a tile
    results = [len(w.values) for w in (weights[:1] if is_gated else weights)]
    counts = [-(-num // height) for num in results]
    firsts = [sum(counts[:number]) for number in range(len(counts))]
    total = sum(counts)
    blocks = min(total, _BLOCKS)
    line: tuple[int, ...] = (width // GROUP, 8, 8) if bits == 4 else (width // size, size)
    lines = size // GROUP if bits == 4 else 1  # of a piece

    def read(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return gpu.load(ref, at, layout=how, optimized=False)

    def wide(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return read(ref, at, how).astype(jnp.float32)

    def spread(value: Any, shape: tuple[int, ...], dims: list[int]) -> Any:
        return gpu.layout_cast(lax.broadcast_in_dim(value, shape, dims), layout)

    def filled(shape: tuple[int, ...]) -> Any:
        return gpu.layout_cast(jnp.full(shape, 0.0, jnp.float32), layout)

    def added(sums: list[jax.Array], x: Any, span: int, held: list[Any]) -> list[jax.Array]:
        """Products of a part that is here, added up thread by thread."""
        for piece in range(pieces):
            place = span * pieces + piece
            if bits != 4:
                values = wide(held[0], (slice(None), piece), layout)
                sums = [
                    s + values * spread(wide(x, (row, place), across), values.shape, [1])
                    for row, s in enumerate(sums)
                ]
                continue
            inside = slice(None), pl.ds(piece * lines, lines)
            words = read(held[0], inside, layout)
            scales = spread(read(held[1], inside, layout.reduce(2)), words.shape, [0, 1])
            sums = [s + scales * in_fours(x, row, place, words) for row, s in enumerate(sums)]
        return sums

    def in_fours(x: Any, row: int, place: int, words: Any) -> Any:
        summed: Any = None
        offset: Any = None
        for i in range(8):
            # Four bits as the first of a mantissa: 1 + n / 16, without a conversion.
            shift = 19 - 4 * i
            moved = words << jnp.uint32(shift) if shift > 0 else words >> jnp.uint32(-shift)
            moved = moved & jnp.uint32(15 << 19) | jnp.uint32(127 << 23)
            number = lax.bitcast_convert_type(moved, jnp.float32)
            by = 16 * wide(x, (row, pl.ds(place * lines, lines), i), across)
            more = number * spread(by, words.shape, [1, 2])
            summed = more if summed is None else summed + more
            offset = by if offset is None else offset + by
        # 16 times 1 + n / 16 is 16 + n, and n − 8 is meant.
        return summed - spread(1.5 * offset, words.shape, [1, 2])

    def normed(norm: Norm, given: Any, here: Any) -> None:
        each = next(each for each in (8, 4, 2, 1) if width // 128 % each == 0)
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
        outs, held = refs[len(flat) : len(flat) + len(results)], refs[len(flat) + len(results) :]
        *here, arrived = held if norm is None else held[1:]
        rows_of = given["x"] if norm is None else held[0]
        block = lax.axis_index("block")

        def for_each(tile: Any, do: Callable[[int, Any], None]) -> None:
            """With the number of the tile's weight, and the first output."""
            for number, count in enumerate(counts):
                start = jnp.minimum((tile - firsts[number]) * height, results[number] - height)
                is_mine = (tile >= firsts[number]) & (tile < firsts[number] + count)
                pl.when(is_mine)(partial(do, number, start))

        def fetch(turn: Any, part: int, slot: Any) -> None:
            def do(number: int, start: Any) -> None:
                which, span = (part // spans, part % spans) if is_gated else (number, part)
                for source, to in zip(jax.tree.leaves(given["weights"][which]), here, strict=True):
                    num = to.shape[2]
                    at = pl.ds(start, height), pl.ds(span * num, num)
                    gpu.copy_gmem_to_smem(source.at[at], to.at[slot], arrived.at[slot])

            for_each(block + turn * blocks, do)

        for step in range(stages):
            fetch(jnp.int32(step // parts), step % parts, step)
        if norm is not None:
            normed(norm, given, held[0])

        def one(turn: Any, _: None) -> None:
            tile = (height, lines, 8) if bits == 4 else (height, size)
            sums = [[filled(tile) for _ in range(rows)] for _ in range(2 if is_gated else 1)]
            for part in range(parts):
                slot = lax.rem(turn * parts + part, jnp.int32(stages))
                gpu.barrier_wait(arrived.at[slot])
                which, span = divmod(part, spans)
                sums[which] = added(sums[which], rows_of, span, [ref.at[slot] for ref in here])
                ahead = part + stages
                fetch(turn + ahead // parts, ahead % parts, slot)
            made = [[s.sum(axis=1) for s in each] for each in sums]
            made = [[s.sum(axis=1) for s in each] for each in made] if bits == 4 else made

            def finish(number: int, start: Any) -> None:
                at = pl.ds(start, height)
                for row in range(rows):
                    ys = []
                    for which, each in enumerate(made):
                        which = which if is_gated else number
                        y = each[row]
                        if bits == 8:
                            y = y * wide(given["scales"][which], (at,), along)
                        if given["biases"]:
                            y = y + wide(given["biases"][which], (at,), along)
                        ys.append(y)
                    y = ys[0] if act is None else act(ys[0])
                    y = y * ys[1] if is_gated else y
                    if given["residual"] is not None:
                        y = y + wide(given["residual"], (row, at), along)
                    outs[number][row, at] = y.astype(outs[number].dtype)

            for_each(block + turn * blocks, finish)

        turns = lax.div(total - block + (blocks - 1), jnp.int32(blocks))
        lax.fori_loop(0, turns, one, None)

    values = [w.values if bits == 4 else w.values.reshape(-1, *line) for w in weights]
    scales: list[Any] = [w.scales for w in weights]
    if bits == 4:  # in types and sizes that can be copied in the background
        sources = [Held(v, s.astype(jnp.float32)) for v, s in zip(values, scales, strict=True)]
    else:
        sources = [Held(v) for v in values]
    arrays = {
        "x": x.reshape(rows, *line),
        "scale": None if norm is None else norm.scale.reshape(line),
        "shift": None if norm is None or norm.bias is None else norm.bias.reshape(line),
        "weights": sources,
        "scales": scales if bits == 8 else None,
        "biases": list(around.biases),
        "residual": around.residual,
    }
    flat, tree = jax.tree.flatten(arrays)
    body.__name__ = f"product_{rows}x{width}x{sum(results)}"  # as profiles show it
    held = [gpu.SMEM((stages, height, pieces * lines, *v.shape[2:]), v.dtype) for v in values[:1]]
    if bits == 4:
        held.append(gpu.SMEM((stages, height, pieces * lines), jnp.float32))
    made = gpu.kernel(
        body,
        out_type=tuple(jax.ShapeDtypeStruct((rows, num), x.dtype) for num in results),
        scratch_types=[
            *([] if norm is None else [gpu.SMEM((rows, *line), x.dtype)]),
            *held,
            gpu.Barrier(num_arrivals=len(held), num_barriers=stages),
        ],
        grid=(blocks,),
        grid_names=("block",),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **({} if interpret is None else {"interpret": interpret}),
    )
    found: tuple[jax.Array, ...] = made(*flat)
    return found


def _pieces(num: int, each: int) -> tuple[int, int]:
    """How many pieces of `each` bytes are copied at a time, and how many such parts are held."""
    pieces = next(n for n in range(1, num + 1) if num % n == 0 and (n * each >= _PART or n == num))
    return pieces, max(2, min(8, 4 * 16384 // (pieces * each)))


def _tiles(bits: int) -> tuple[Any, int, int]:
    """How four warps hold a piece of a weight; its outputs and inputs.

    A thread has 16 bytes of it, and neighbours have neighbours, of 128 inputs or 4 groups.
    """
    from jax.experimental.mosaic.gpu.fragmented_array import Tiling
    from jax.experimental.pallas import mosaic_gpu as gpu

    lanes: tuple[int, ...]
    if bits == 4:
        tiling, warps, lanes = Tiling(((16, 4, 8), (4, 4, 8), (4,))), -7, (-4, -3, -2)
        height, size = 16, 4 * GROUP
    else:
        vector = 128 // bits
        each = 32 * vector // 128
        tiling, warps, lanes = Tiling(((4 * each, 128), (each, 128), (vector,))), -5, (-3, -2)
        height, size = 4 * each, 128
    layout = gpu.Layout.TILED(tiling, warp_dims=(warps,), lane_dims=lanes, vector_dim=-1)
    return layout, height, size
