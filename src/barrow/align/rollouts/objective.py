"""The loss of a policy in two parts: what the model gives for rows, and the loss of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from barrow.align.model import Aligned
from barrow.align.objectives import answer_logprobs
from barrow.align.policy_losses import (
    clipped_value,
    grpo,
    reduced,
    rloo,
    rollout_weights,
)
from barrow.nn.trace import Constrain
from barrow.train.objectives.objective import Loss, Mean

if TYPE_CHECKING:
    from barrow.align.rollouts.settings import Policy

Outputs = dict[str, jax.Array]


@dataclass(frozen=True)
class PolicyObjective:
    """An `Objective` of rollouts.

    `outputs` are log-probabilities, entropies and values of rows; `loss_of` needs only those. So a
    program can give the outputs, and either stop there or go on to the gradient.

    Rows have tokens, targets and mask; `old` and `sampled` log-probabilities, of the update's
    program and of the sampler; `advantages`; and where they are needed `reference`, `old_values`
    and `returns`; all [rows, length]. `kl` [rows] is the weight of the distance.
    """

    model: Aligned
    policy: Policy
    constrain: Constrain | None = None

    is_sum_over_rows = True

    def outputs(self, params: Any, frozen: Any, rows: Any) -> Outputs:
        """What the model gives for rows, each [rows, length]."""
        whole = self.model.whole(params, frozen)
        logprobs, entropy, states = answer_logprobs(self.model, whole, rows, self.constrain)
        found = {"logprobs": logprobs, "entropy": entropy}
        if self.model.config.head != "none":
            tokens, constrain = rows["tokens"], self.constrain
            found["values"] = self.model.scores(whole, states, tokens, constrain=constrain)
        return found

    def reference(self, params: Any, frozen: Any, rows: Any) -> jax.Array:
        """Log-probabilities of the reference."""
        first = self.model.first(frozen, params)
        return answer_logprobs(self.model, first, rows, self.constrain)[0]

    def loss_of(self, outputs: Outputs, rows: Any) -> Loss:
        """The loss of a policy, and of values; clipping, entropy and distances as metrics."""
        policy, mask = self.policy, rows["mask"].astype(jnp.float32)
        now, old = outputs["logprobs"], rows["old"]
        # Where the mask is 0 nothing is compared: such places must not make a NaN.
        now = jnp.where(mask > 0, now, old)
        weights = rollout_weights(old, rows["sampled"], most=policy.most_weight)
        how: dict[str, Any] = {"low": policy.low, "high": policy.high, "weights": weights}
        if policy.algorithm == "rloo":
            found = rloo(now, old, rows["advantages"], mask, **how)
        else:
            if policy.kl_in == "loss" and "reference" in rows:
                reference = jnp.where(mask > 0, rows["reference"], now)
                how |= {"reference": reference, "kl": rows["kl"][:, None]}
            found = grpo(now, old, rows["advantages"], mask, by=policy.by, **how)
        total, weight = found.total, found.weight
        ratio = jnp.exp(now - old)
        is_out = (ratio < 1 - policy.low) | (ratio > 1 + policy.high)
        metrics = {
            "entropy": _mean(outputs["entropy"], mask),
            "clipped": _mean(is_out.astype(jnp.float32), mask),
            # The first pass over rollouts must give exactly 0.
            "moved": Mean(jnp.max(jnp.abs(now - old) * mask), jnp.float32(1)),
        }
        if "values" in outputs and policy.algorithm == "ppo":
            losses = clipped_value(
                outputs["values"], rows["old_values"], rows["returns"], clip=policy.value_clip
            )
            value = reduced(losses, mask, policy.by)
            total = total + policy.value_weight * value.total
            metrics["value_loss"] = value
        return Loss(total, weight, metrics)

    def loss(self, params: Any, frozen: Any, rows: Any, key: jax.Array) -> Loss:
        """See `Objective`."""
        del key
        found = self.loss_of(self.outputs(params, frozen, rows), rows)
        return Loss(found.total, found.weight, found.metrics, frozen)


def _mean(x: jax.Array, mask: jax.Array) -> Mean:
    return Mean(jnp.sum(jax.lax.stop_gradient(x) * mask), mask.sum())
