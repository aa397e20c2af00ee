"""Attention over rows so short that a GPU holds a whole head on the chip, with its gradient.

`plain_attention.masked` is the definition. On one Hopper GPU queries, keys and values may come in
one array, as one product makes them: nothing is then split or put together in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.attention import short_kernel
from barrow.nn.attention.over_heads import over_heads
from barrow.nn.attention.plain_attention import masked
from barrow.nn.attention.short_kernel import DIM, MOST, Kind
from barrow.nn.attention.visible import Visible
from barrow.nn.hopper import is_hopper, log_choice, with_twin


def has_kernel(
    shape: tuple[int, ...], num_keys: int, kv_heads: int, dtype: Any, visible: Visible
) -> bool:
    """Whether there is one here for queries [batch, places, heads, dim] of this shape and type."""
    if not is_hopper(alone=False):
        return False
    _, places, heads, dim = shape
    fits = places == num_keys and places <= MOST and dim == DIM and heads == kv_heads
    fits = fits and dtype in (jnp.bfloat16, jnp.float16) and 0 not in shape
    fits = fits and visible.starts is None and not visible.is_local
    log_choice("attention of short rows", shape[1:], fits)
    return fits


# A kernel is traced and lowered at each use: so it is made once for all layers and, outside jit,
# for all calls, each of which would compile it again.
@partial(jax.jit, static_argnames=("causal", "scale"))
def short_attention(
    arrays: tuple[jax.Array, ...],
    ids: jax.Array | None,
    bias: jax.Array | None = None,
    *,
    causal: bool,
    scale: float,
) -> jax.Array:
    """Attention [batch, places, heads, 64] of queries, keys and values, seen by `ids_of`.

    They are three arrays of this shape, which may be split over devices by rows and heads, or, on
    one GPU, one [batch, places, 3, heads, 64], with a `bias` [3, heads, 64] that is added to it.
    Products are in their type, sums in float32.
    """
    assert bias is None or len(arrays) == 1
    return _attend(Kind(causal, scale), arrays, bias, ids)


def ids_of(shape: tuple[int, ...], visible: Visible) -> jax.Array | None:
    """Ids of queries and of keys [batch, 2, places], those that are seen equal; None: all are."""
    batch, places = shape[:2]
    if visible.segments is None and visible.lengths is None:
        return None
    of_q, of_k = (jnp.zeros((batch, places), jnp.int32),) * 2
    if visible.segments is not None:
        of_q, of_k = (x.astype(jnp.int32) for x in visible.segments)
    if visible.lengths is not None:
        is_there = jnp.arange(places) < visible.lengths[:, None]
        of_k = jnp.where(is_there, of_k, jnp.iinfo(jnp.int32).min)
    return jnp.stack([of_q, of_k], axis=1)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(
    kind: Kind, arrays: tuple[jax.Array, ...], bias: jax.Array | None, ids: jax.Array | None
) -> jax.Array:
    return _call(kind, arrays, bias, ids)  # type: ignore[no-any-return]


def _forward(kind: Kind, *given: Any) -> tuple[jax.Array, Any]:
    return _attend(kind, *given), given


def _backward(kind: Kind, kept: Any, above: jax.Array) -> tuple[Any, jax.Array | None, None]:
    bias = kept[1]
    found = _call(kind, *kept, above)
    if bias is None:
        return found, None, None
    # As rows: over two dimensions XLA first writes a transposed float32 copy.
    of_bias = found[0].reshape(-1, bias.size).sum(axis=0, dtype=jnp.float32).reshape(bias.shape)
    # That of keys adds the same to all scores of a query: what is summed up there is rounding.
    return found, of_bias.at[1].set(0).astype(bias.dtype), None


_attend.defvjp(_forward, _backward)


def _call(
    kind: Kind,
    arrays: tuple[jax.Array, ...],
    bias: jax.Array | None,
    ids: jax.Array | None,
    *above: jax.Array,
) -> Any:
    """The kernel of the result, or of its gradient; of arrays alone, so that JAX transforms it."""
    kept, structure = jax.tree.flatten((arrays, bias, ids))
    if len(arrays) == 1:
        return with_twin(_by_kernel, _by_twin, kind, structure)(*kept, *above)
    call = over_heads(lambda *given: tuple(jax.tree.leaves(_by_kernel(kind, structure, *given))))
    found = tuple(call(*kept, *above))
    return found if above else found[0]


def _by_kernel(kind: Kind, structure: Any, *given: jax.Array) -> Any:
    run = short_kernel.gradient if len(given) > structure.num_leaves else short_kernel.forward
    return _flat(run, kind, structure, given)


def _by_twin(kind: Kind, structure: Any, *given: jax.Array) -> Any:
    run = _plain_gradient if len(given) > structure.num_leaves else _plain
    return _flat(run, kind, structure, given)


def _flat(run: Callable[..., Any], kind: Kind, structure: Any, given: tuple[Any, ...]) -> Any:
    num = structure.num_leaves
    return run(kind, *structure.unflatten(given[:num]), *given[num:])


def _plain(
    kind: Kind, arrays: tuple[jax.Array, ...], bias: jax.Array | None, ids: jax.Array | None
) -> jax.Array:
    if len(arrays) == 1:
        whole = arrays[0] if bias is None else arrays[0] + bias
        arrays = tuple(whole[:, :, i] for i in range(3))
    q, k, v = arrays
    segments = None if ids is None else (ids[:, 0], ids[:, 1])
    mask = Visible(causal=kind.causal, segments=segments).mask(q.shape[1], q.shape[1])
    return masked(q, k, v, mask, kind.scale, is_never_empty=ids is None)


def _plain_gradient(
    kind: Kind,
    arrays: tuple[jax.Array, ...],
    bias: jax.Array | None,
    ids: jax.Array | None,
    above: jax.Array,
) -> tuple[jax.Array, ...]:
    _, back = jax.vjp(lambda *given: _plain(kind, given, bias, ids), *arrays)
    return tuple(back(above))
