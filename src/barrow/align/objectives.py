"""The losses of fine-tuning, rewards and preferences, bound to a model and its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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


@dataclass(frozen=True)
class Sft:
    """Nats of the assistant's tokens: those whose mask is 1."""

    unit, measure, needs_reference = "token", "nats per token", False

    def __call__(
        self, model: Aligned, *, is_training: bool, constrain: Constrain | None
    ) -> Objective:
        """See `MakeObjective`."""
        del is_training

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
class Rewards:
    """Bradley–Terry of the rewards at the last tokens of whole texts [pairs, 2, length].

    The chosen answers come first.

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

        def loss(params: Any, frozen: Any, batch: Any, key: jax.Array) -> Loss:
            del key
            pairs, _, length = batch["whole"].shape
            tokens, lengths = batch["whole"].reshape(-1, length), batch["lengths"].reshape(-1)
            rewards = last_scores(model, model.whole(params, frozen), tokens, lengths, constrain)
            chosen, rejected = rewards.reshape(pairs, 2).T
            real = batch["real"].astype(jnp.float32)
            found = bradley_terry(chosen, rejected, real, centre=self.centre)
            mean = Mean(jnp.sum((chosen + rejected) / 2 * real), real.sum())
            metrics = _compared(chosen, rejected, real) | {"reward": mean}
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
        if self.loss == "kto":
            return _kto_objective(model, self, constrain)
        if self.loss == "ipo":
            loss: PairLoss = partial(ipo, beta=self.beta)
            return preference_objective(model, loss, per_token=True, constrain=constrain)
        loss = partial(dpo, beta=self.beta, smoothing=self.smoothing)
        return preference_objective(model, loss, constrain=constrain)


def preference_objective(
    model: Aligned, loss: PairLoss, *, per_token: bool = False, constrain: Constrain | None = None
) -> Objective:
    """A loss of log ratios of pairs, or of their means if `per_token`; the chosen come first."""

    def of_batch(params: Any, frozen: Any, batch: Any, key: jax.Array) -> Loss:
        del key
        ratios, num = _log_ratios(model, params, frozen, batch, constrain)
        chosen, rejected = (ratios / jnp.maximum(num, 1.0) if per_token else ratios).T
        real = batch["real"].astype(jnp.float32)
        found = loss(chosen, rejected, real)
        return Loss(found.total, found.weight, _compared(chosen, rejected, real), frozen)

    return Objective(of_batch)


def _kto_objective(model: Aligned, how: Preference, constrain: Constrain | None) -> Objective:
    """KTO of answers, `good` or not; the second of two is that of another row.

    It comes after the same prompt, and measures the distance from the reference.
    """

    def loss(params: Any, frozen: Any, batch: Any, key: jax.Array) -> Loss:
        del key
        one, other = _log_ratios(model, params, frozen, batch, constrain)[0].T
        real = batch["real"].astype(jnp.float32)
        distance = jnp.sum(other * real) / jnp.maximum(real.sum(), 1.0)
        weights: dict[str, Any] = {"beta": how.beta, "good": how.good, "bad": how.bad}
        found = kto(one, batch["good"], distance, real, **weights)
        metrics = {"distance": Mean(jnp.maximum(distance, 0.0), jnp.float32(1))}
        return Loss(found.total, found.weight, metrics, frozen)

    return Objective(loss, is_sum_over_rows=False)


def _log_ratios(
    model: Aligned, params: Any, frozen: Any, batch: Any, constrain: Constrain | None
) -> tuple[jax.Array, jax.Array]:
    """Log ratios of answers to the reference, and their tokens, of [rows, 2, length]: [rows, 2]."""
    rows, _, length = batch["tokens"].shape
    flat = {name: batch[name].reshape(-1, length) for name in ("tokens", "targets", "mask")}
    mask = flat["mask"].astype(jnp.float32)
    now, _, _ = answer_logprobs(model, model.whole(params, frozen), flat, constrain)
    then, _, _ = answer_logprobs(model, model.first(frozen, params), flat, constrain)
    ratios = jnp.sum((now - jax.lax.stop_gradient(then)) * mask, axis=1)
    return ratios.reshape(rows, 2), mask.sum(axis=1).reshape(rows, 2)


def _compared(chosen: jax.Array, rejected: jax.Array, real: jax.Array) -> dict[str, Mean]:
    return {
        "accuracy": Mean(jnp.sum((chosen > rejected) * real), real.sum()),
        "margin": Mean(jnp.sum((chosen - rejected) * real), real.sum()),
    }
