"""Tokens on their way to the devices of their experts, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

# Places for tokens on their way to a device, relative to an even share; more go in further rounds.
_SPARE = 1.5


def exchanged(
    feed: Callable[[jax.Array, jax.Array, Sequence[jax.Array]], jax.Array],
    x: jax.Array,
    ids: jax.Array,
    kernels: Sequence[jax.Array],
    num_experts: int,
    most: int,
    over: tuple[str, ...],
) -> jax.Array:
    """The outputs [choices, width] of experts `ids` [choices] for tokens x [tokens, width].

    Experts are divided `over` mesh axes, and ``feed(x, ids, kernels)`` computes those of a device;
    an id of `num_experts` is no expert, and gives 0. An expert gets `most` of the tokens here.

    Shapes are static, so tokens are sent in rounds: one has `_SPARE` times an even share of places
    for each device, and there are as many rounds as the device with most tokens needs.
    """
    num, own = len(ids), kernels[0].shape[0]
    top_k, parts = num // len(x), num_experts // own
    to = ids // own
    order, counts = jnp.argsort(to, stable=True), jnp.bincount(to, length=parts + 1)
    first = jnp.cumsum(counts) - counts
    nth = jnp.zeros_like(to).at[order].set(jnp.arange(num) - first[to[order]])
    most = min(len(x) * min(top_k, own), most * own)
    places = min(most, 8 * math.ceil(_SPARE * num / parts / 8))

    def exchange(x: jax.Array) -> jax.Array:
        return lax.all_to_all(x, over, 0, 0, tiled=True)  # type: ignore[no-any-return]

    def one_round(x: jax.Array, kernels: Sequence[jax.Array], start: Any) -> jax.Array:
        at = start + jnp.arange(places)
        choices = jnp.where(at < counts[:parts, None], order[first[:parts, None] + at], num)
        sent = x.at[choices // top_k].get(mode="fill", fill_value=0)
        wanted = jnp.where(choices < num, ids[choices] % own, own)
        got, asked = exchange(sent), exchange(wanted)
        y = feed(got.reshape(-1, x.shape[-1]), asked.reshape(-1), kernels)
        back = exchange(y.reshape(got.shape)).reshape(y.shape)
        is_here = (to < parts) & (nth >= start) & (nth < start + places)
        where = jnp.where(is_here, to * places + nth - start, len(back))
        return back.at[where].get(mode="fill", fill_value=0)

    y = one_round(x, kernels, 0)
    if most <= places:
        return y
    longest = lax.pmax(counts[:parts].max(), over)

    def another(y: jax.Array, start: jax.Array) -> tuple[jax.Array, None]:
        more = jax.checkpoint(one_round)
        y = lax.cond(longest > start, lambda: y + more(x, kernels, start), lambda: y)
        return y, None

    starts = jnp.arange(places, most, places)
    every: jax.Array = lax.cond(
        longest > places, lambda: lax.scan(another, y, starts)[0], lambda: y
    )
    return every
