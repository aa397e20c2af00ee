"""How each row of a step chooses its next token, with its own settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.serve.requests import MOST_TOP


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settings:
    """The settings of rows, an entry for each (see `requests.Choice`).

    `num_prompt` tokens are not new; `num_top` of the likeliest are asked for; `bias_ids` [rows,
    most] have the `biases` added to their logits, an id past the vocabulary nothing.
    """

    temperature: jax.Array
    top_k: jax.Array
    top_p: jax.Array
    min_p: jax.Array
    repetition: jax.Array
    presence: jax.Array
    frequency: jax.Array
    seed: jax.Array
    num_prompt: jax.Array
    num_top: jax.Array
    bias_ids: jax.Array
    biases: jax.Array


def choose(
    how: Settings, logits: jax.Array, texts: jax.Array, lengths: jax.Array, allowed: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A token [rows] for each row of logits [rows, vocab], and its log-probability.

    `texts` [rows, places] are the tokens so far, of which `lengths` are real. `allowed` [rows,
    vocab / 32] has a bit for each token that may be chosen. Log-probabilities are those of the
    model, before all settings. The random numbers of a row depend on its seed and its length. What
    no row needs is skipped; it would not change the others.
    """
    logits = logits.astype(jnp.float32)
    is_restricted = jnp.any(allowed != jnp.uint32(0xFFFFFFFF))
    x = lax.cond(is_restricted, lambda x: _masked(x, allowed), lambda x: x, logits)
    x = lax.cond(jnp.any(how.biases != 0), lambda x: _biased(how, x), lambda x: x, x)
    is_penalised = (how.repetition != 1) | (how.presence != 0) | (how.frequency != 0)
    x = lax.cond(
        jnp.any(is_penalised), lambda x: _penalised(how, x, texts, lengths), lambda x: x, x
    )
    is_drawn = how.temperature > 0
    x = lax.cond(jnp.any(is_drawn), lambda x: _noisy(how, x, lengths), lambda x: x, x)
    chosen = jnp.argmax(x, axis=-1).astype(jnp.int32)
    return chosen, known(logits, chosen)


def known(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """The log-probability [rows] of a token at each row of logits."""
    taken = jnp.take_along_axis(logits, tokens[:, None], axis=-1)[:, 0]
    return taken - jax.nn.logsumexp(logits, axis=-1)


def likeliest(logits: jax.Array, is_asked: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The likeliest tokens [rows, 20] and their log-probabilities; zeros unless `is_asked`."""
    num = min(MOST_TOP, logits.shape[1])

    def found(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        highest, ids = lax.top_k(x, num)
        return ids, highest - jax.nn.logsumexp(x, axis=-1, keepdims=True)

    def nothing(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.zeros((len(x), num), jnp.int32), jnp.zeros((len(x), num), jnp.float32)

    return lax.cond(is_asked, found, nothing, logits.astype(jnp.float32))  # type: ignore[no-any-return]


def _masked(x: jax.Array, allowed: jax.Array) -> jax.Array:
    bits = (allowed[..., None] >> jnp.arange(32, dtype=jnp.uint32)) & 1
    return jnp.where(bits.reshape(len(x), -1)[:, : x.shape[1]] == 1, x, -jnp.inf)


def _biased(how: Settings, x: jax.Array) -> jax.Array:
    return x.at[jnp.arange(len(x))[:, None], how.bias_ids].add(how.biases, mode="drop")


def _penalised(how: Settings, x: jax.Array, texts: jax.Array, lengths: jax.Array) -> jax.Array:
    """CTRL's penalty of all tokens so far; OpenAI's of presence and frequency among new ones."""
    places = jnp.arange(texts.shape[1])
    is_real = places < lengths[:, None]
    is_new = is_real & (places >= how.num_prompt[:, None])
    rows = jnp.arange(len(x))[:, None]
    seen, counts = (
        jnp.zeros(x.shape, jnp.float32).at[rows, texts].add(which.astype(jnp.float32), mode="drop")
        for which in (is_real, is_new)
    )
    repetition = how.repetition[:, None]
    x = jnp.where(seen > 0, jnp.where(x > 0, x / repetition, x * repetition), x)
    return x - how.presence[:, None] * (counts > 0) - how.frequency[:, None] * counts


def _noisy(how: Settings, x: jax.Array, lengths: jax.Array) -> jax.Array:
    """Logits whose highest is a draw; those of greedy rows as they are."""
    is_drawn = (how.temperature > 0)[:, None]
    scaled = x / jnp.where(is_drawn, how.temperature[:, None], 1.0)
    num = jnp.where(how.top_k > 0, how.top_k, x.shape[1])
    is_cut = (how.top_k > 0) | (how.top_p < 1) | (how.min_p > 0)
    cut = lax.cond(
        jnp.any(is_cut & is_drawn[:, 0]),
        lambda x: _likeliest(x, num, how.top_p, how.min_p),
        lambda x: x,
        scaled,
    )

    def noise(seed: jax.Array, length: jax.Array) -> jax.Array:
        return jax.random.gumbel(jax.random.fold_in(jax.random.key(seed), length), x.shape[1:])

    return jnp.where(is_drawn, cut + jax.vmap(noise)(how.seed, lengths), x)


def _likeliest(x: jax.Array, num: jax.Array, share: jax.Array, least: jax.Array) -> jax.Array:
    """The `num` highest, of these the fewest whose sum of probabilities reaches `share`.

    And no token whose probability is below `least` times the highest. Others are −∞.
    """
    x = _highest(x, lambda kept: kept.sum(axis=-1) >= num)
    shares = jax.nn.softmax(x, axis=-1)
    x = _highest(x, lambda kept: jnp.where(kept, shares, 0).sum(axis=-1) >= share)
    return jnp.where(x >= x.max(axis=-1, keepdims=True) + jnp.log(least)[:, None], x, -jnp.inf)


def _highest(x: jax.Array, is_enough: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """What is not below a threshold: for each row the largest with which enough is left.

    It is found bit by bit, without a sort; all that are equal to it stay, the others are −∞.
    """
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    # In this form integers are ordered as the numbers are.
    bits = jnp.where(bits >> 31 == 1, ~bits, bits | jnp.uint32(1 << 31))

    def turn(number: Any, found: jax.Array) -> jax.Array:
        tried = found | (jnp.uint32(1) << (31 - number).astype(jnp.uint32))
        return jnp.where(is_enough(bits >= tried[:, None]), tried, found)

    found = lax.fori_loop(0, 32, turn, jnp.zeros(len(x), jnp.uint32))
    return jnp.where(bits >= found[:, None], x, -jnp.inf)
