"""How each row of a step chooses its next token, with its own settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.serve.requests import MOST_TOP, Level


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settings:
    """The settings of rows, an entry for each (see `requests.Choice`).

    `num_prompt` tokens are not new; `bias_ids` [rows, most] have the `biases` added to their
    logits, an id past the vocabulary nothing.
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
    bias_ids: jax.Array
    biases: jax.Array


def choose(
    how: Settings,
    logits: jax.Array,
    texts: jax.Array,
    lengths: jax.Array,
    allowed: jax.Array,
    *,
    level: Level = "all",
) -> jax.Array:
    """A token [rows] for each row of logits [rows, vocab].

    `texts` [rows, places] are the tokens so far, of which `lengths` are real. `allowed` [rows,
    vocab / 32] has a bit for each token that may be chosen. The random numbers of a row depend on
    its seed and its length. A level that no row needs changes nothing.
    """
    x = logits.astype(jnp.float32)
    if level == "all":
        x = _penalised(how, _biased(how, _masked(x, allowed)), texts, lengths)
    if level != "greedy":
        x = _noisy(how, x, lengths, is_cut=level == "all")
    return jnp.argmax(x, axis=-1).astype(jnp.int32)


def known(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Log-probabilities of the model, before all settings, of a token for each row [rows]."""
    logits = logits.astype(jnp.float32)
    taken = jnp.take_along_axis(logits, tokens[:, None], axis=-1)[:, 0]
    return taken - jax.nn.logsumexp(logits, axis=-1)


def likeliest(logits: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The likeliest tokens [rows, 20] and their log-probabilities."""
    logits = logits.astype(jnp.float32)
    highest, ids = lax.top_k(logits, min(MOST_TOP, logits.shape[1]))
    return ids, highest - jax.nn.logsumexp(logits, axis=-1, keepdims=True)


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


def _noisy(how: Settings, x: jax.Array, lengths: jax.Array, *, is_cut: bool) -> jax.Array:
    """Logits whose highest is a draw; those of greedy rows as they are."""
    is_drawn = (how.temperature > 0)[:, None]
    scaled = x / jnp.where(is_drawn, how.temperature[:, None], 1.0)
    if is_cut:
        num = jnp.where(how.top_k > 0, how.top_k, x.shape[1])
        cut = _likeliest(scaled, num, how.top_p, how.min_p)
        needs = (how.top_k > 0) | (how.top_p < 1) | (how.min_p > 0)
        # With top_p = 1 the sum of all may round to less: a row without a cut is left alone.
        scaled = jnp.where(needs[:, None], cut, scaled)

    def noise(seed: jax.Array, length: jax.Array) -> jax.Array:
        return jax.random.gumbel(jax.random.fold_in(jax.random.key(seed), length), x.shape[1:])

    return jnp.where(is_drawn, scaled + jax.vmap(noise)(how.seed, lengths), x)


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
