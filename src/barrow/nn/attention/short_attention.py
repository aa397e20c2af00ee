"""Attention, forward and backward, over rows so short that one GPU program holds a whole head.

Queries, keys and values are read once and scores never leave the chip; the backward pass computes
them again from these. Kernels for long rows work in tiles, keep sums in memory, and need even
lengths.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from barrow.nn.attention.over_heads import over_heads


@dataclass(frozen=True)
class _Kind:
    causal: bool
    scale: float


# A kernel is traced and lowered at each use: so it is made once for all layers and, outside jit,
# for all calls, each of which would compile it again.
@functools.partial(jax.jit, static_argnames=("causal", "scale"))
def short_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array, *, causal: bool, scale: float
) -> jax.Array:
    """Attention of q [batch, queries, heads, dim] over the first `lengths` keys of each row.

    At most 128 queries and 128 keys; dim is 16, 32, 64 or 128; there are as many key heads as
    query heads. A query that sees no key gets zeros. Products are in the type of q, sums in
    float32. Without a GPU it is interpreted, slowly.
    """
    return _attend(_Kind(causal, scale), q, k, v, lengths.astype(jnp.int32))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(kind: _Kind, q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array) -> jax.Array:
    call = over_heads(functools.partial(_run, _forward, kind, 1))
    out: jax.Array = call(q, k, v, lengths)[0]
    return out


def _attend_forward(kind: _Kind, *given: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    return _attend(kind, *given), given


def _attend_backward(
    kind: _Kind, given: tuple[jax.Array, ...], gradient: jax.Array
) -> tuple[Any, ...]:
    call = over_heads(functools.partial(_run, _backward, kind, 3))
    return *call(*given, gradient), None


_attend.defvjp(_attend_forward, _attend_backward)


def _run(
    kernel: Callable[..., None], kind: _Kind, num_out: int, *arrays: jax.Array
) -> tuple[jax.Array, ...]:
    """A kernel's program for each head of each row; its outputs are like q, k and v."""
    batch, num_queries, num_heads, dim = arrays[0].shape
    num_keys = arrays[1].shape[1]
    # Measured: more warps pay only for a forward pass that fills its block.
    num_warps = 8 if kernel is _forward and max(num_queries, num_keys) > 96 else 4

    def block(x: jax.Array) -> pl.BlockSpec:
        if x.ndim == 1:
            return pl.BlockSpec((1,), lambda row, _: (row,))
        places = max(16, pl.next_power_of_2(x.shape[1]))
        return pl.BlockSpec((None, places, None, dim), lambda row, head: (row, 0, head, 0))

    call = pl.pallas_call(
        functools.partial(kernel, kind, num_queries, num_keys),
        grid=(batch, num_heads),
        in_specs=[block(x) for x in arrays],
        out_specs=[block(x) for x in arrays[:num_out]],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays[:num_out]],
        compiler_params=triton.CompilerParams(num_warps=num_warps, num_stages=1),
        interpret=jax.default_backend() != "gpu",
        name=f"short_attention{kernel.__name__}",
    )
    return tuple(call(*arrays))


def _forward(
    kind: _Kind, num_queries: int, num_keys: int, q: Any, k: Any, v: Any, lengths: Any, out: Any
) -> None:
    shares = _shares(kind, num_keys, _read(q, num_queries), _read(k, num_keys), lengths[0])
    values = _read(v, num_keys)
    _write(out, triton.dot(shares.astype(values.dtype), values), num_queries)


def _backward(
    kind: _Kind,
    num_queries: int,
    num_keys: int,
    q: Any,
    k: Any,
    v: Any,
    lengths: Any,
    gradient: Any,
    dq: Any,
    dk: Any,
    dv: Any,
) -> None:
    queries, keys = _read(q, num_queries), _read(k, num_keys)
    dout = _read(gradient, num_queries)
    shares = _shares(kind, num_keys, queries, keys, lengths[0])
    _write(dv, triton.dot(shares.astype(dout.dtype), dout, trans_a=True), num_keys)
    dshares = triton.dot(dout, _read(v, num_keys), trans_b=True)
    mean = jnp.sum(shares * dshares, axis=1, keepdims=True)
    dscores = (shares * (dshares - mean) * kind.scale).astype(queries.dtype)
    _write(dq, triton.dot(dscores, keys), num_queries)
    _write(dk, triton.dot(dscores, queries, trans_a=True), num_keys)


def _shares(
    kind: _Kind, num_keys: int, queries: jax.Array, keys: jax.Array, length: jax.Array
) -> jax.Array:
    """Softmax of the scores [queries, keys] over the keys that are seen; zeros where none is."""
    scores = triton.dot(queries, keys, trans_b=True) * (kind.scale * math.log2(math.e))
    place = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
    seen = place < jnp.minimum(length, num_keys)
    if kind.causal:
        seen &= place <= jax.lax.broadcasted_iota(jnp.int32, scores.shape, 0)
    scores = jnp.where(seen, scores, jnp.finfo(jnp.float32).min)
    powers = jnp.exp2(scores - jnp.max(scores, axis=1, keepdims=True))
    powers = jnp.where(seen, powers, 0.0)
    total = jnp.sum(powers, axis=1, keepdims=True)
    return powers / jnp.where(total == 0, 1.0, total)


def _read(x: Any, num: int) -> jax.Array:
    """A head's positions, then zeros."""
    there = jax.lax.broadcasted_iota(jnp.int32, x.shape, 0) < num
    found: jax.Array = triton.load(x, mask=there, other=0.0)
    return found


def _write(x: Any, value: jax.Array, num: int) -> None:
    there = jax.lax.broadcasted_iota(jnp.int32, x.shape, 0) < num
    triton.store(x, value.astype(x.dtype), mask=there)
