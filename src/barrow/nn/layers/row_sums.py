"""Rows of a table by id, with a gradient that is the same bits each time on a GPU.

The gradient of a row is a sum over the places with its id. As a scatter, GPUs add in an order that
varies, or, made deterministic, one place after another. Here ids are sorted, so that places of an
id are neighbours; sums within blocks of places are a product with a matrix of ones and zeros, and
an id that reaches over several blocks has the sums of the later ones added to its first.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

_BLOCK = 128  # places


@jax.custom_vjp
def rows(table: jax.Array, ids: jax.Array) -> jax.Array:
    """table[ids], NaN for ids past the end; sums of the gradient are taken in float32."""
    return jnp.take(table, ids, axis=0, mode="fill")


def _forward(table: jax.Array, ids: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return rows(table, ids), (jnp.zeros((table.shape[0], 0), table.dtype), ids)


def _backward(
    kept: tuple[jax.Array, jax.Array], above: jax.Array
) -> tuple[jax.Array, jax.Array | None]:
    like, ids = kept
    of_rows = sum_by_id(ids.reshape(-1), above.reshape(ids.size, -1), like.shape[0])
    return of_rows.astype(like.dtype), None


rows.defvjp(_forward, _backward)


def sum_by_id(ids: jax.Array, x: jax.Array, num: int) -> jax.Array:
    """Row i is the sum of the rows of x [places, width] whose id is i: [num, width], x's type.

    Ids are not negative; those past the end are left out.
    """
    width = x.shape[-1]
    order = jnp.argsort(ids)
    ids = jnp.pad(ids[order], (0, -len(order) % _BLOCK), constant_values=num)
    x = jnp.pad(x[order], ((0, -len(order) % _BLOCK), (0, 0)))
    of_block = ids.reshape(len(ids) // _BLOCK, _BLOCK)
    first, last = of_block[:, 0], of_block[:, -1]
    exact = lax.Precision.HIGHEST
    is_same = of_block[:, :, None] == of_block[:, None, :]
    sums = lax.dot_general(
        is_same.astype(x.dtype),
        x.reshape(len(of_block), _BLOCK, width),
        (((2,), (1,)), ((0,), (0,))),
        precision=exact if x.dtype == jnp.float32 else None,
        preferred_element_type=jnp.float32,
    )
    at = jnp.arange(len(first))
    is_continued = (at > at[:, None]) & (first == last[:, None])
    rest = jnp.dot(is_continued.astype(jnp.float32), sums[:, 0], precision=exact)
    sums = sums + jnp.where((of_block == last[:, None])[..., None], rest[:, None], 0)
    # One place of each id is written, so that no order matters; the others are past the end.
    is_start = jnp.append(True, ids[1:] != ids[:-1]) & (ids < num)
    to = jnp.where(is_start, ids, num + jnp.arange(len(ids)))
    table = jnp.zeros((num, width), x.dtype)
    sums = sums.reshape(len(ids), width).astype(x.dtype)
    return table.at[to].set(sums, mode="drop", unique_indices=True)
