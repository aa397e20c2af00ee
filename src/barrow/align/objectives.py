"""The losses of fine-tuning, rewards and preferences, bound to a model and its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from barrow.align.losses import bradley_terry, dpo, ipo, kto
from barrow.align.model import Aligned
from barrow.nn.cross_entropy import cross_entropy
from barrow.nn.token_logprobs import token_logprobs
from barrow.nn.trace import Constrain
from barrow.train.objectives.objective import Loss, Mean, Objective

# (chosen, rejected, mask) of log ratios: a loss of one's own.
PairLoss = Callable[[jax.Array, jax.Array, jax.Array], Mean]


def answer_logprobs(
    model: Aligned, whole: Any, batch: Any, constrain: Constrain | None = None
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Log-probabilities of targets, entropies, and the last hidden states, of whole parameters.

    A batch has tokens and targets [rows, length], and segments and positions if rows are packed.
    """
    where = {name: batch[name] for name in ("segments", "positions") if name in batch}
    states = model.hidden(whole, batch["tokens"], constrain=constrain, **where)
    weight, transposed = model.body.head_weight(whole)
    logprobs, entropy = token_logprobs(states, weight, batch["targets"], transposed=transposed)
    return logprobs, entropy, states


def sft_objective(model: Aligned, *, constrain: Constrain | None = None) -> Objective:
    """Nats of the assistant's tokens: those whose mask is 1."""

    def loss(params: Any, frozen: Any, batch: Any, key: jax.Array) -> Loss:
        del key
        whole = model.whole(params, frozen)
        where = {name: batch[name] for name in ("segments", "positions")}
        states = model.hidden(whole, batch["tokens"], constrain=constrain, **where)
        weight, transposed = model.body.head_weight(whole)
        mask = batch["mask"].astype(jnp.float32)
        total = cross_entropy(
            states, weight, batch["targets"], mask, transposed=transposed, constrain=constrain
        )
        return Loss(total, mask.sum(), {}, frozen)

    return Objective(loss)


@dataclass(frozen=True)
class Preference:
    """How pairs of answers are learned.

    - `loss`: dpo, ipo or kto; `beta`: how much distance from the reference costs.
    - `smoothing`: of dpo, the share of pairs that are taken to be the wrong way round.
    - `good`, `bad`: of kto, the weights of the two kinds of answers.
    """

    loss: Literal["dpo", "ipo", "kto"] = "dpo"
    beta: float = 0.1
    smoothing: float = 0.0
    good: float = 1.0
    bad: float = 1.0

    unit, measure = "pair", "loss per pair"

    def __post_init__(self) -> None:
        if self.loss not in ("dpo", "ipo", "kto"):
            raise ValueError(f"loss must be dpo, ipo or kto, got {self.loss!r}")
        if not self.beta > 0:
            raise ValueError(f"beta must be > 0, got {self.beta}")
        if not 0 <= self.smoothing < 0.5:
            raise ValueError(f"smoothing must be from 0 to 0.5, got {self.smoothing}")

    def __call__(
        self, model: Aligned, *, is_training: bool, constrain: Constrain | None
    ) -> Objective:
        """See `MakeObjective`."""
        del is_training
        return preference_objective(model, self, constrain=constrain)


@dataclass(frozen=True)
class Rewards:
    """How rewards of pairs are learned.

    - `centre`: the weight of (chosen + rejected)², which keeps rewards around 0.
    """

    centre: float = 0.01

    unit, measure, needs_reference = "pair", "nats per pair", False

    def __post_init__(self) -> None:
        if not self.centre >= 0:
            raise ValueError(f"centre must be ≥ 0, got {self.centre}")

    def __call__(
        self, model: Aligned, *, is_training: bool, constrain: Constrain | None
    ) -> Objective:
        """See `MakeObjective`."""
        del is_training
        return reward_objective(model, centre=self.centre, constrain=constrain)


@dataclass(frozen=True)
class Sft:
    """Nats of the assistant's tokens."""

    unit, measure, needs_reference = "token", "nats per token", False

    def __call__(
        self, model: Aligned, *, is_training: bool, constrain: Constrain | None
    ) -> Objective:
        """See `MakeObjective`."""
        del is_training
        return sft_objective(model, constrain=constrain)


def reward_objective(
    model: Aligned, *, centre: float = 0.0, constrain: Constrain | None = None
) -> Objective:
    """Bradley–Terry of the rewards at the last tokens of whole texts [pairs, 2, length].

    The chosen answers come first.
    """

    def loss(params: Any, frozen: Any, batch: Any, key: jax.Array) -> Loss:
        del key
        pairs, _, length = batch["whole"].shape
        tokens, lengths = batch["whole"].reshape(-1, length), batch["lengths"].reshape(-1)
        rewards = last_scores(model, model.whole(params, frozen), tokens, lengths, constrain)
        chosen, rejected = rewards.reshape(pairs, 2).T
        real = batch["real"].astype(jnp.float32)
        found = bradley_terry(chosen, rejected, real, centre=centre)
        metrics = _compared(chosen, rejected, real) | {
            "reward": Mean(jnp.sum((chosen + rejected) / 2 * real), real.sum())
        }
        return Loss(found.total, found.weight, metrics, frozen)

    return Objective(loss)


def last_scores(
    model: Aligned,
    whole: Any,
    tokens: jax.Array,
    lengths: jax.Array,
    constrain: Constrain | None = None,
) -> jax.Array:
    """The head's number at the last real token of each row, float32 [rows]."""
    states = model.hidden(whole, tokens, constrain=constrain)
    scores = model.scores(whole, states, tokens, constrain=constrain)
    return jnp.take_along_axis(scores, jnp.maximum(lengths, 1)[:, None] - 1, axis=1)[:, 0]


def preference_objective(
    model: Aligned, settings: Preference | PairLoss, *, constrain: Constrain | None = None
) -> Objective:
    """A loss of answers against the reference, for batches of arrays [rows, 2, length].

    The two are the chosen and the rejected answer. With kto they are an answer, `good` or not, and
    that of another row after the same prompt, which measures the distance from the reference.
    """

    def loss(params: Any, frozen: Any, batch: Any, key: jax.Array) -> Loss:
        del key
        rows, _, length = batch["tokens"].shape
        flat = {name: batch[name].reshape(-1, length) for name in ("tokens", "targets", "mask")}
        mask = flat["mask"].astype(jnp.float32)
        now, _, _ = answer_logprobs(model, model.whole(params, frozen), flat, constrain)
        first = model.first(frozen, params)
        then, _, _ = answer_logprobs(model, first, flat, constrain)
        ratios = jnp.sum((now - jax.lax.stop_gradient(then)) * mask, axis=1)
        real = batch["real"].astype(jnp.float32)
        if isinstance(settings, Preference) and settings.loss == "ipo":
            ratios = ratios / jnp.maximum(mask.sum(axis=1), 1.0)
        one, other = ratios.reshape(rows, 2).T
        if isinstance(settings, Preference) and settings.loss == "kto":
            distance = jnp.sum(other * real) / jnp.maximum(real.sum(), 1.0)
            found = kto(
                one,
                batch["good"],
                distance,
                real,
                beta=settings.beta,
                good=settings.good,
                bad=settings.bad,
            )
            metrics = {"distance": Mean(jnp.maximum(distance, 0.0), jnp.float32(1))}
            return Loss(found.total, found.weight, metrics, frozen)
        if not isinstance(settings, Preference):
            found = settings(one, other, real)
        elif settings.loss == "ipo":
            found = ipo(one, other, real, beta=settings.beta)
        else:
            found = dpo(one, other, real, beta=settings.beta, smoothing=settings.smoothing)
        return Loss(found.total, found.weight, _compared(one, other, real), frozen)

    is_kto = isinstance(settings, Preference) and settings.loss == "kto"
    return Objective(loss, is_sum_over_rows=not is_kto)


def _compared(chosen: jax.Array, rejected: jax.Array, real: jax.Array) -> dict[str, Mean]:
    return {
        "accuracy": Mean(jnp.sum((chosen > rejected) * real), real.sum()),
        "margin": Mean(jnp.sum((chosen - rejected) * real), real.sum()),
    }
