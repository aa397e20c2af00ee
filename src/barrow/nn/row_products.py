"""Products of a few rows with weights, fused with norm, bias, activation and residual.

For one token the time is that of reading the weights and of starting kernels: on an H200 about 2 µs
each. So the norm before a product is computed again by every block (a row is short), and bias,
activation and residual are added before the result is written. Weights are read as they are held:
bfloat16, int8 or 4 bits. To multiply and to convert single numbers would take longer than to read
them, so tensor cores multiply, though most of what they compute is not used, and two numbers are
converted by one instruction. The plain form (`plain`) is the definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import is_hopper, log_choice, with_twin
from barrow.nn.layers.activations import Activation, gelu_tanh, quick_gelu, relu, silu
from barrow.nn.weights.fragments import OVER, warp_sums

GROUP = 64  # inputs that share a scale, of 4 bits
_MOST = 4  # rows; of more, arithmetic takes longer than reading the weights
_WIDE = 128  # inputs are a multiple of it
_ROOM = 196_608  # bytes of shared memory for the rows
_AT_ONCE = 3 * 132  # blocks that an H200 runs at a time, by their registers
_LOADS = 24  # of a thread, on their way at a time; more do not fit its registers
_ACTIVATIONS = (None, gelu_tanh, quick_gelu, relu, silu)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Held:
    """A weight [outputs, inputs]: bfloat16; or int8 with `scales` [outputs]; or 4 bits.

    Of 4 bits (0…15, which mean −8…7) `values` are uint32 [outputs, inputs / 8] and `scales`
    [groups of 64 inputs, outputs]. Number i of a word is at bit 4 (i // 2) + 16 (i % 2): the two of
    a pair are 16 bits apart, as those of a register of bfloat16 are.
    """

    values: jax.Array
    scales: jax.Array | None = None

    @property
    def bits(self) -> int:
        """Of a number."""
        return 4 if self.values.dtype == jnp.uint32 else 8 * self.values.dtype.itemsize


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
    numbers = (held.values[..., None] >> shifts() & 15).astype(jnp.int8) - 8
    numbers = numbers.reshape(len(numbers), -1, GROUP)
    wide = numbers.astype(dtype) * held.scales.T.astype(dtype)[..., None]
    return wide.reshape(len(wide), -1), None


def shifts() -> jax.Array:
    """The place of each of the eight numbers of a word (see `Held`)."""
    number = jnp.arange(8, dtype=jnp.uint32)
    return 4 * (number // 2) + 16 * (number % 2)


def has_kernel(
    shape: tuple[int, ...], dtype: Any, weights: tuple[Held, ...], act: Activation | None = None
) -> bool:
    """Whether there is a kernel here for rows of this shape and type and these weights."""
    rows, width = shape
    fits = rows <= _MOST and width % _WIDE == 0 and 2 * rows * width <= _ROOM
    fits = fits and dtype == jnp.bfloat16 and act in _ACTIVATIONS
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
    """The same as `plain`. A block has a few outputs; its four warps share the inputs.

    The last block of a weight starts earlier where outputs do not divide: it computes some again.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    rows, width = x.shape
    bits = weights[0].bits
    length = weights[0].values.shape[1]
    each = width // length  # numbers of an element
    outputs = [len(weight.values) for weight in weights]
    results = outputs[:1] if is_gated else outputs
    tiles = _tiles(bits, length, is_odd=any(num % 2 for num in outputs))
    # Of many blocks each has twice the outputs: all run at once, and x is read half as often.
    is_tall = rows == 1 and bits < 16 and sum(results) > _AT_ONCE * tiles.height
    height = tiles.height * (1 + is_tall)
    counts = [-(-num // height) for num in results]
    norm = around.norm
    # Products need not wait for an RMS norm: its factor is one number, which sums get at the end.
    is_late = norm is not None and not norm.is_centred and norm.bias is None
    line = (4, width // 4) if is_late else (width,)  # a part for each warp
    vector = next(size for size in (8, 4, 2, 1) if width // _WIDE % size == 0)
    # As many at a time as registers hold, in parts of equal length.
    num_tiles, at_once = length // tiles.span, _LOADS // (1 + is_gated) // (1 + is_tall)
    chunk = tiles.span * -(-num_tiles // -(-num_tiles // at_once))

    def read(ref: Any, at: tuple[Any, ...], how: Any) -> Any:
        return gpu.load(ref, at, layout=how, optimized=False)

    def fetched(weight: Held, at: Any, start: int) -> tuple[jax.Array, ...]:
        size = min(chunk, length - start)
        values = read(weight.values, (at, pl.ds(start, size)), tiles.values)
        if bits != 4:
            return (values,)
        return values, read(weight.scales, (pl.ds(start // 8, size // 8), at), tiles.scales)

    def summed(here: Any, start: int, held: tuple[Any, ...]) -> list[Any]:
        size = each * held[0].shape[1]
        xs = [read(here, (row, pl.ds(each * start, size)), tiles.x) for row in range(rows)]
        return _sums(tiles, height, xs, *held)

    def normed(y: Any, scale: Any, shift: Any) -> Any:
        if norm is None or is_late:
            return y if norm is None else y.astype(jnp.float32) * scale.astype(jnp.float32)
        y = y.astype(jnp.float32)
        y = y - jnp.sum(y) / width if norm.is_centred else y
        y = y * lax.rsqrt(jnp.sum(y * y) / width + norm.eps)
        y = y * scale.astype(jnp.float32)
        return y if shift is None else y + shift.astype(jnp.float32)

    def body(*refs: Any) -> None:
        given = jax.tree.unflatten(tree, refs[: len(flat)])
        outs = refs[len(flat) : len(flat) + len(results)]
        here, parts, squares = refs[-3:]
        as_rows = here.reshape(rows, width) if is_late else here
        block = lax.axis_index("block")

        def one(number: int, first: int) -> None:
            start = jnp.minimum((block - first) * height, results[number] - height)
            at = pl.ds(start, height)
            mine = range(len(weights)) if is_gated else [number]
            held = [given["weights"][i] for i in mine]
            # All is asked for before anything is waited for.
            whole = (
                tiles.quarters(vector) if is_late else gpu.Layout.WG_STRIDED(line, vec_size=vector)
            )
            ys = [read(given["x"], (row,), whole) for row in range(rows)]
            scale, shift = (
                None if given[name] is None else read(given[name], (), whole)
                for name in ("scale", "shift")
            )
            near = [fetched(weight, at, 0) for weight in held]
            by = [read(w.scales, (at,), tiles.outputs) for w in held] if bits == 8 else []
            biases = [read(given["biases"][i], (at,), tiles.outputs) for i in mine if around.biases]
            residual = given["residual"]
            beside = [
                read(residual, (row, at), tiles.outputs)
                for row in range(0 if residual is None else rows)
            ]
            for row, y in enumerate(ys):
                here[row] = normed(y, scale, shift).astype(here.dtype)
            for i, weight in enumerate(held):
                sums = summed(as_rows, 0, near[i])
                for place in range(chunk, length, chunk):
                    more = summed(as_rows, place, fetched(weight, at, place))
                    sums = [a + b for a, b in zip(sums, more, strict=True)]
                # A store between two weights keeps x out of registers, of which others have need.
                for row in range(rows):
                    parts[i, row] = sums[row]
            for row in range(rows if is_late else 0):
                squares[row] = (ys[row].astype(jnp.float32) ** 2).sum(axis=1)
            for row in range(rows):
                found = []
                if norm is not None and is_late:
                    mean = sum(squares[row, n] for n in range(4)) / width
                    factor = lax.rsqrt(mean + norm.eps)
                for i in range(len(held)):
                    y = sum(read(parts, (i, row, n), tiles.outputs) for n in range(tiles.ways))
                    y = y * OVER if bits < 16 else y
                    y = y * factor if is_late else y
                    y = y * by[i].astype(jnp.float32) if by else y
                    found.append(y + biases[i].astype(jnp.float32) if biases else y)
                y = found[0] if act is None else act(found[0])
                y = y * found[1] if is_gated else y
                y = y + beside[row].astype(jnp.float32) if beside else y
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
        "shift": None if norm is None else norm.bias,
        "weights": list(weights),
        "biases": list(around.biases),
        "residual": around.residual,
    }
    flat, tree = jax.tree.flatten(arrays)
    body.__name__ = f"product_{rows}x{width}x{sum(results)}"  # as profiles show it
    made = gpu.kernel(
        body,
        out_type=tuple(jax.ShapeDtypeStruct((rows, num), x.dtype) for num in results),
        scratch_types=[
            gpu.SMEM((rows, *line), x.dtype),
            gpu.SMEM((1 + is_gated, rows, tiles.ways, height), jnp.float32),
            gpu.SMEM((rows, 4), jnp.float32),
        ],
        grid=(sum(counts),),
        grid_names=("block",),
        compiler_params=gpu.CompilerParams(approx_math=True),
        **({} if interpret is None else {"interpret": interpret}),
    )
    found: tuple[jax.Array, ...] = made(*flat)
    return found


class _Tiles(NamedTuple):
    """How threads hold arrays.

    A tile of a weight is 8 outputs of each warp and a line of inputs: thread 4i + j has part j of
    the line of output i, 16 bytes, or 8 of 4 bits, where a line is a group. So are the columns
    of `mma` divided. It has the same part of x, and sums of outputs 2j and 2j + 1.
    """

    values: Any  # [outputs, elements]
    x: Any  # [inputs]
    scales: Any  # of 4 bits: [groups, outputs]
    sums: Any  # [ways, outputs]
    outputs: Any
    quarters: Any  # [4, inputs / 4], by the size of a thread's vector
    ways: int  # warps that share the inputs of an output
    height: int  # outputs of a tile
    span: int  # elements of a tile


def _tiles(bits: int, length: int, *, is_odd: bool) -> _Tiles:
    from jax.experimental.mosaic.gpu.fragmented_array import Replicated, TiledLayout, Tiling
    from jax.experimental.pallas import mosaic_gpu as gpu

    vector, each = {4: (2, 8), 8: (16, 1), 16: (8, 1)}[bits]
    line = 4 * vector
    ways = next(num for num in (4, 2, 1) if length % (line * num) == 0)
    across = 4 // ways
    height, span = 8 * across, line * ways

    def tiled(
        tiles: tuple[tuple[int, ...], ...],
        warps: tuple[tuple[int | None, int], ...],
        lanes: tuple[Any, ...],
    ) -> Any:
        """Warps are divided over (dimension, number); of None all have the same."""
        dims = tuple(Replicated(num) if dim is None else dim for dim, num in warps if num > 1)
        made = TiledLayout(Tiling(tiles), dims, lanes, -1, _check_canonical=False).canonicalize()
        return gpu.Layout.TILED(
            made.tiling,
            warp_dims=made.warp_dims,
            lane_dims=made.lane_dims,
            vector_dim=made.vector_dim,
        )

    same = Replicated(8)
    # Of an odd number of outputs, pairs are not aligned.
    one: tuple[tuple[int, ...], ...] = ((1,),) if is_odd else ()
    less = len(one)
    pairs = (ways, height), (1, 8), (2,)
    return _Tiles(
        tiled(((height, span), (8, line), (vector,)), ((-5, across), (-4, ways)), (-3, -2)),
        tiled(
            ((span * each,), (line * each,), (vector * each,)),
            ((None, across), (-3, ways)),
            (same, -2),
        ),
        tiled((*pairs, *one), ((-4 - less, across), (-5 - less, ways)), (same, -2 - less)),
        tiled(pairs, ((-4, across), (-5, ways)), (same, -2)),
        tiled(
            ((height,), (8,), (2,), *one),
            ((-3 - less, across), (None, ways)),
            (same, -2 - less),
        ),
        lambda size: tiled(((4, 32 * size), (1, 32 * size), (size,)), ((-5, 4),), (-2,)),
        ways,
        height,
        span,
    )


def _sums(tiles: _Tiles, height: int, xs: list[Any], *held: Any) -> list[Any]:
    """Of each row: sums [ways, outputs] of what each warp has; of 8 and 4 bits, over `OVER`."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    shape = tiles.ways, height
    given = [tiles.x] * len(xs), tiles.values, tiles.scales
    made = gpu.inline_mgpu(
        arg_types=given[: 1 + len(held)],
        return_type=[gpu.ShapeDtypeStruct(shape, jnp.float32, layout=tiles.sums)] * len(xs),
    )
    found: list[Any] = made(partial(warp_sums, shape, tiles.sums.to_mgpu()))(xs, *held)
    return found
