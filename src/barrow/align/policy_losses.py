"""Losses of policies: functions of log-probabilities of rollouts, each a total and a weight.

Arrays are [rows, length]; `mask` is 1 at the tokens of answers. GRPO, RLOO and PPO are made of
these pieces, and differ in advantages (`align.advantages`) and in how tokens are weighed.
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

from barrow.train.objectives.objective import Mean

Reduction = Literal["tokens", "rows", "length"]


def clipped_policy(
    logprobs: jax.Array,
    old: jax.Array,
    advantages: jax.Array,
    *,
    low: float = 0.2,
    high: float = 0.2,
) -> jax.Array:
    """−min(r·A, clip(r, 1 − low, 1 + high)·A), r = p / old p (Schulman et al. 2017, equation 7)."""
    ratio = jnp.exp(logprobs - old)
    clipped = jnp.clip(ratio, 1 - low, 1 + high)
    return -jnp.minimum(ratio * advantages, clipped * advantages)


def clipped_value(
    values: jax.Array, old: jax.Array, returns: jax.Array, *, clip: float = 0.2
) -> jax.Array:
    """½ · max((v − R)², (v′ − R)²), where v′ stays within `clip` of the old value."""
    near = jnp.clip(values, old - clip, old + clip)
    return 0.5 * jnp.maximum((values - returns) ** 2, (near - returns) ** 2)


def divergence(logprobs: jax.Array, reference: jax.Array) -> jax.Array:
    """An estimate of KL(policy ‖ reference) at each token, ≥ 0: exp(d) − d − 1 with d = log q/p."""
    d = reference - logprobs
    return jnp.exp(d) - d - 1


def rollout_weights(old: jax.Array, sampled: jax.Array, *, most: float) -> jax.Array:
    """min(p / p of the sampler, most): what corrects for tokens that another program drew."""
    return jnp.minimum(jnp.exp(old - sampled), most)


def reduced(losses: jax.Array, mask: jax.Array, by: Reduction) -> Mean:
    """The sum of losses at tokens, and what it is divided by.

    - tokens: each token counts the same (DAPO);
    - rows: each answer does, however long (GRPO as published);
    - length: the sum over an answer, divided by the longest possible one (Dr. GRPO).
    """
    if by == "tokens":
        return Mean(jnp.sum(losses * mask), jnp.sum(mask))
    lengths = mask.sum(axis=1)
    rows = jnp.sum(lengths > 0).astype(jnp.float32)
    if by == "rows":
        each = jnp.sum(losses * mask, axis=1) / jnp.maximum(lengths, 1.0)
        return Mean(jnp.sum(each), rows)
    return Mean(jnp.sum(losses * mask), rows * mask.shape[1])


def grpo(
    logprobs: jax.Array,
    old: jax.Array,
    advantages: jax.Array,
    mask: jax.Array,
    *,
    reference: jax.Array | None = None,
    kl: jax.Array | float = 0.0,
    unbiased: bool = True,
    low: float = 0.2,
    high: float = 0.2,
    by: Reduction = "tokens",
    weights: jax.Array | float = 1.0,
) -> Mean:
    """The clipped policy at each token, plus `kl` times the divergence from the reference.

    `advantages` are one for each row [rows, 1] or each token; `weights` correct for the sampler.
    The estimate of the divergence is multiplied by p / old p if `unbiased`: only then is its
    gradient that of the divergence (DeepSeek-V3.2); without, it is as GRPO was published.
    """
    losses = clipped_policy(logprobs, old, advantages, low=low, high=high) * weights
    if reference is not None:
        far = divergence(logprobs, reference)
        losses = losses + kl * far * (jnp.exp(logprobs - old) if unbiased else 1.0)
    return reduced(losses, mask, by)


def rloo(
    logprobs: jax.Array,
    old: jax.Array,
    advantages: jax.Array,
    mask: jax.Array,
    *,
    low: float = 0.2,
    high: float = 0.2,
    weights: jax.Array | float = 1.0,
) -> Mean:
    """The clipped policy of whole answers: the ratio is that of the products of probabilities.

    `advantages` are the same at all tokens of an answer. `weights` [rows, length] correct for the
    sampler: of an answer, their product.
    """
    then = jnp.sum(old * mask, axis=1)
    now = jnp.sum(logprobs * mask, axis=1)
    product = jnp.exp(jnp.sum(jnp.log(jnp.broadcast_to(weights, mask.shape)) * mask, axis=1))
    is_real = (mask.sum(axis=1) > 0).astype(jnp.float32)
    each = jnp.sum(advantages * mask, axis=1) / jnp.maximum(mask.sum(axis=1), 1.0)
    losses = clipped_policy(now, then, each, low=low, high=high) * product
    return Mean(jnp.sum(losses * is_real), jnp.sum(is_real))
