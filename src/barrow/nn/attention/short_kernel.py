"""Attention over rows of at most 128 places, forward and backward: kernels for Hopper GPUs.

A block holds one head of one row: queries, keys and values are read once and scores never leave
the chip; the backward pass computes them again. A warpgroup has 64 of the places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

DIM = 64  # of a head
MOST = 128  # places
_TILE = 64  # places of a warpgroup
_LINES = 8  # of a tile in shared memory
_AXES = ("row", "head", "group")


@dataclass(frozen=True)
class Kind:
    """`causal`: no key after the query is seen; `scale`: of the scores."""

    causal: bool
    scale: float


def forward(
    kind: Kind, arrays: tuple[jax.Array, ...], bias: jax.Array | None, ids: jax.Array | None
) -> jax.Array:
    """Attention [batch, places, heads, 64] of queries, keys and values.

    They are one array [batch, places, 3, heads, 64], or three [batch, places, heads, 64]; `bias`
    [3, heads, 64] is added to them. Of `ids` [batch, 2, places] the first are the queries', the
    second the keys': a query sees keys with its own id.
    """
    work = _Work(kind, arrays[0].shape[1], len(arrays) == 1, bias is not None, ids is not None)
    given = work.given(arrays, bias, ids)
    out = work.run(work.forward, given, num_held=3, num_out=1, barriers=(2, 1))
    return out[0][:, :, 0]


def gradient(
    kind: Kind,
    arrays: tuple[jax.Array, ...],
    bias: jax.Array | None,
    ids: jax.Array | None,
    above: jax.Array,
) -> tuple[jax.Array, ...]:
    """The gradient of each array, from that of the result."""
    work = _Work(kind, arrays[0].shape[1], len(arrays) == 1, bias is not None, ids is not None)
    given = work.given(arrays, bias, ids, above)
    found = work.run(
        work.gradient, given, num_held=4, num_out=len(arrays), barriers=(2, 2, 1, 1, 1)
    )
    return found if len(arrays) == 1 else tuple(x[:, :, 0] for x in found)


@dataclass(frozen=True)
class _Work:
    """Kernels for rows of `num` places; `merged`: one array has queries, keys and values."""

    kind: Kind
    num: int
    merged: bool
    biased: bool
    masked: bool

    @property
    def tiles(self) -> int:
        return -(-self.num // _TILE)

    def given(
        self,
        arrays: tuple[jax.Array, ...],
        bias: jax.Array | None,
        ids: jax.Array | None,
        *above: jax.Array,
    ) -> tuple[jax.Array, ...]:
        """What a kernel gets: parts [batch, places, parts, heads, 64], bias and ids."""
        apart = tuple(x[:, :, None] for x in (*(() if self.merged else arrays), *above))
        apart = (arrays * 3 if self.merged else ()) + apart
        apart = apart if bias is None else (*apart, bias)
        if ids is None:
            return apart
        # Places past the end: no id is theirs.
        places = self.tiles * _TILE
        there = jnp.arange(places) < self.num
        nobody = jnp.iinfo(jnp.int32).min + jnp.arange(1, 3, dtype=jnp.int32)[:, None]
        ids = jnp.pad(ids, ((0, 0), (0, 0), (0, places - self.num)))
        return *apart, jnp.where(there, ids, nobody)

    def run(
        self,
        body: Callable[..., None],
        arrays: tuple[jax.Array, ...],
        *,
        num_held: int,
        num_out: int,
        barriers: tuple[int, ...],
    ) -> tuple[jax.Array, ...]:
        """The kernel over all rows and heads."""
        from jax.experimental.pallas import mosaic_gpu as gpu

        batch, num, parts, heads, dim = arrays[0].shape
        dtype, tiles = arrays[0].dtype, self.tiles
        swizzled = (gpu.SwizzleTransform(128),)

        def held(columns: int) -> Any:
            shape = (tiles * _TILE // _LINES, columns, _LINES, dim)
            return gpu.SMEM(shape, dtype, transforms=swizzled)

        is_forward = num_held == 3
        out = (batch, num, 1 if is_forward else parts, heads, dim)
        kernel = gpu.kernel(
            body,
            out_type=(jax.ShapeDtypeStruct(out, dtype),) * num_out,
            scratch_types=[
                *[held(1)] * num_held,
                *([] if is_forward else [held(tiles)]),
                *[gpu.Barrier(num_arrivals=each * tiles) for each in barriers],
            ],
            grid=(batch, heads),
            grid_names=_AXES[:2],
            num_threads=tiles,
            thread_name=_AXES[2],
            # Lanes: a tile in shared memory is seen both as copied and as multiplied.
            compiler_params=gpu.CompilerParams(
                approx_math=True, lowering_semantics=gpu.LoweringSemantics.Lane
            ),
        )
        return tuple(kernel(*arrays))

    def forward(self, q: Any, k: Any, v: Any, *refs: Any) -> None:
        from jax.experimental.pallas import mosaic_gpu as gpu

        bias, ids, (out, qs, ks, vs, qk_here, v_here) = self._apart(refs)
        mine = _mine()
        self._fetch((q, k, v), (qs, ks, vs), (qk_here, qk_here, v_here))
        gpu.barrier_wait(qk_here)
        power, by = self._powers(self._queries(qs, bias), ks, ids)
        gpu.barrier_wait(v_here)
        found = _product(power.astype(q.dtype), _matrix(vs))
        found = found * lax.broadcast_in_dim(by, found.shape, [0])
        if bias is not None:
            # Weights sum to 1. That of keys adds the same to all scores of a query: no change.
            more = _columns(bias, 2)
            if ids is not None:
                sees = lax.broadcast_in_dim(power.sum(axis=1), found.shape, [0]) > 0
                more = jnp.where(sees, more, 0.0)
            found = found + more
        _matrix(qs.at[mine])[...] = found.astype(q.dtype)
        gpu.commit_smem()
        gpu.copy_smem_to_gmem(_flat(qs.at[mine]), _place(out, 0))
        gpu.wait_smem_to_gmem(0)

    def gradient(self, q: Any, k: Any, v: Any, above: Any, *refs: Any) -> None:
        from jax.experimental.pallas import mosaic_gpu as gpu

        bias, ids, refs = self._apart(refs)
        num = 1 if self.merged else 3
        outs, (qs, ks, vs, gs, weights, qk_here, gv_here, *barriers) = refs[:num], refs[num:]
        mine = _mine()
        here = (qk_here, qk_here, gv_here, gv_here)
        self._fetch((q, k, v, above), (qs, ks, vs, gs), here)

        def meet(barrier: Any) -> None:
            """What each warpgroup wrote is there for all; what they read may be overwritten."""
            gpu.commit_smem()
            if self.tiles > 1:
                gpu.barrier_arrive(barrier)
                gpu.barrier_wait(barrier)

        gpu.barrier_wait(qk_here)
        queries = self._queries(qs, bias)
        power, by = self._powers(queries, ks, ids)
        if bias is not None:
            _matrix(qs.at[mine])[...] = queries  # for the gradient of the keys
        weight = power * lax.broadcast_in_dim(by, power.shape, [0])
        _matrix(weights.at[mine])[...] = weight.astype(q.dtype)
        meet(barriers[0])
        column = _turned(_matrix(_my_column(weights)))
        gpu.barrier_wait(gv_here)
        of_v = _product(column, _matrix(gs)).astype(q.dtype)
        of_weight = _product(_matrix(gs.at[mine]), _turned(_matrix(vs)))
        meet(barriers[1])
        _matrix(vs.at[mine])[...] = of_v
        mean = (weight * of_weight).sum(axis=1)
        of_score = weight * (of_weight - lax.broadcast_in_dim(mean, weight.shape, [0]))
        of_score = (of_score * self.kind.scale).astype(q.dtype)
        _matrix(weights.at[mine])[...] = of_score
        of_q = _product(of_score, _matrix(ks)).astype(q.dtype)
        meet(barriers[2])
        of_k = _product(column, _matrix(qs)).astype(q.dtype)
        _matrix(gs.at[mine])[...] = of_k
        _matrix(ks.at[mine])[...] = of_q
        gpu.commit_smem()
        for i, held in enumerate((ks, gs, vs)):
            out, part = (outs[0], i) if self.merged else (outs[i], 0)
            gpu.copy_smem_to_gmem(_flat(held.at[mine]), _place(out, part))
        gpu.wait_smem_to_gmem(0)

    def _apart(self, refs: Any) -> tuple[Any, Any, Any]:
        """The bias and the ids (or None), and the other references."""
        bias, refs = (refs[0], refs[1:]) if self.biased else (None, refs)
        ids, refs = (refs[0], refs[1:]) if self.masked else (None, refs)
        return bias, ids, refs

    def _queries(self, held: Any, bias: Any) -> Any:
        """Those of this warpgroup: with their bias in registers, without one where they lie."""
        mine = _matrix(held.at[_mine()])
        if bias is None:
            return mine
        return (mine[...].astype(jnp.float32) + _columns(bias, 0)).astype(held.dtype)

    def _fetch(self, sources: Any, held: Any, here: Any) -> None:
        """Copies this warpgroup's places; those past the end become zeros."""
        from jax.experimental.pallas import mosaic_gpu as gpu

        for i, (source, to, barrier) in enumerate(zip(sources, held, here, strict=True)):
            part = i if self.merged and i < 3 else 0
            gpu.copy_gmem_to_smem(_place(source, part), _flat(to.at[_mine()]), barrier)

    def _powers(self, q: Any, k: Any, ids: Any) -> tuple[jax.Array, jax.Array]:
        """2^(score − highest) [queries, keys], and 1 / their sums."""
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import mosaic_gpu as gpu

        wide = gpu.Layout.WGMMA
        shape = (_TILE, self.tiles * _TILE)
        start = lax.axis_index(_AXES[2]) * _TILE
        score = _product(q, _turned(_matrix(k)))
        score = score * (self.kind.scale * math.log2(math.e))  # exp2 is one instruction
        column = gpu.broadcasted_iota(jnp.int32, shape, 1, layout=wide)
        seen = None
        if ids is not None:
            row = lax.axis_index(_AXES[0])
            of_q = gpu.load(
                ids, (row, 0, pl.ds(start, _TILE)), layout=wide.reduce(1), optimized=False
            )
            of_k = gpu.load(ids, (row, 1), layout=wide.reduce(0), optimized=False)
            seen = lax.broadcast_in_dim(of_q, shape, [0]) == lax.broadcast_in_dim(of_k, shape, [1])
        elif self.num < shape[1] and not self.kind.causal:
            seen = column < self.num
        if self.kind.causal:
            line = gpu.broadcasted_iota(jnp.int32, shape, 0, layout=wide)
            earlier = column <= line + start
            seen = earlier if seen is None else seen & earlier
        score = score if seen is None else jnp.where(seen, score, -jnp.inf)
        top = score.max(axis=1)
        # A query that sees no key has no highest score.
        top = top if ids is None else jnp.where(top == -jnp.inf, 0.0, top)
        power = jnp.exp2(score - lax.broadcast_in_dim(top, shape, [0]))
        total = power.sum(axis=1)
        total = total if ids is None else jnp.where(total == 0.0, 1.0, total)
        return power, 1.0 / total


def _mine() -> Any:
    """The part of this warpgroup in what is held, in tiles."""
    from jax.experimental import pallas as pl

    num = _TILE // _LINES
    return pl.ds(lax.axis_index(_AXES[2]) * num, num)


def _my_column(ref: Any) -> Any:
    """The keys of this warpgroup, for all queries."""
    from jax.experimental import pallas as pl

    return ref.at[:, pl.ds(lax.axis_index(_AXES[2]), 1)]


def _columns(bias: Any, part: int) -> Any:
    """The bias of this block's head, float32, for each of a warpgroup's places."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    at = (part, lax.axis_index(_AXES[1]))
    found = gpu.load(bias, at, layout=gpu.Layout.WGMMA.reduce(0), optimized=False)
    return lax.broadcast_in_dim(found.astype(jnp.float32), (_TILE, DIM), [1])


def _place(ref: Any, part: int) -> Any:
    """The places of this warpgroup in the head of this block."""
    from jax.experimental import pallas as pl

    row, head, group = (lax.axis_index(name) for name in _AXES)
    return ref.at[row, pl.ds(group * _TILE, _TILE), part, head]


def _flat(ref: Any) -> Any:
    """Tiles [tiles, 1, 8, 64] as they are copied: rows."""
    return ref.reshape(ref.shape[0] * _LINES, DIM)


def _matrix(ref: Any) -> Any:
    """Tiles [tiles, columns, 8, 64] as a matrix."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    untiled = gpu.TilingTransform((_LINES, DIM)).undo(jax.typeof(ref.ref))
    return replace(ref, transforms=(*ref.transforms, untiled))


def _turned(ref: Any) -> Any:
    return ref.transpose((1, 0))


def _product(a: Any, b: Any) -> jax.Array:
    """a·b in float32; a may be in registers."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as gpu

    def run(sums: Any) -> jax.Array:
        gpu.wgmma(sums, a, b)
        found: jax.Array = sums[...]
        return found

    shape = (a.shape[0], b.shape[1])
    found: jax.Array = pl.run_scoped(run, gpu.WGMMAAccumulatorRef(shape, jnp.float32))
    return found
