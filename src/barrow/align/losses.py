"""Losses of preferences: functions of log-probabilities, each a total and a weight.

Arrays are one number for each answer; `mask` is 0 for rows that only fill a batch. A log ratio is
the log-probability of an answer (the sum over its tokens) minus that of the reference.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from barrow.train.objectives.objective import Mean


def bradley_terry(
    chosen: jax.Array, rejected: jax.Array, mask: jax.Array, *, centre: float = 0.0
) -> Mean:
    """−log σ(chosen − rejected) of rewards, for each pair.

    With `centre`, as much of (chosen + rejected)² is added: differences alone leave the level of
    rewards open.
    """
    losses = -jax.nn.log_sigmoid(chosen - rejected) + centre * (chosen + rejected) ** 2
    return _summed(losses, mask)


def dpo(
    chosen: jax.Array, rejected: jax.Array, mask: jax.Array, *, beta: float, smoothing: float = 0.0
) -> Mean:
    """−log σ(β · (chosen − rejected)) of log ratios (Rafailov et al. 2023, equation 7).

    `smoothing` is the share of pairs that are taken to be the wrong way round.
    """
    margin = beta * (chosen - rejected)
    right, wrong = -jax.nn.log_sigmoid(margin), -jax.nn.log_sigmoid(-margin)
    return _summed((1 - smoothing) * right + smoothing * wrong, mask)


def ipo(chosen: jax.Array, rejected: jax.Array, mask: jax.Array, *, beta: float) -> Mean:
    """(chosen − rejected − 1 / 2β)² of log ratios per token (Azar et al. 2023, equation 17).

    Per token, as its authors computed it: a sum over tokens would grow with the length.
    """
    return _summed((chosen - rejected - 1 / (2 * beta)) ** 2, mask)


def kto(
    ratios: jax.Array,
    is_good: jax.Array,
    distance: jax.Array,
    mask: jax.Array,
    *,
    beta: float,
    good: float = 1.0,
    bad: float = 1.0,
) -> Mean:
    """1 − σ(±β · (log ratio − distance)) of single answers (Ethayarajh et al. 2024, equation 7).

    `distance` is an estimate of the divergence from the reference, ≥ 0, a constant to derivatives;
    `good` and `bad` weigh the two kinds of answers.
    """
    distance = jax.lax.stop_gradient(jnp.maximum(distance, 0.0))
    sign = jnp.where(is_good > 0, 1.0, -1.0)
    losses = 1 - jax.nn.sigmoid(beta * sign * (ratios - distance))
    return _summed(losses * jnp.where(is_good > 0, good, bad), mask)


def _summed(losses: jax.Array, mask: jax.Array) -> Mean:
    return Mean(jnp.sum(losses * mask), jnp.sum(mask))
