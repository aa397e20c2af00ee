"""A step: answers to the prompts of a batch, what they are worth, and updates from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.align.advantages import AdaptiveKl, generalised, grouped, leave_one_out, whitened
from barrow.align.rollouts.keep import Kept
from barrow.align.rollouts.objective import PolicyObjective
from barrow.align.rollouts.programs import Programs
from barrow.align.rollouts.prompts import PromptData
from barrow.align.rollouts.rewards import Sample, rewarded
from barrow.align.rollouts.sampler import Drawn, Sampler
from barrow.errors import BarrowError
from barrow.nn.tree import Tree
from barrow.stream.order.permutation import Permutation, derive
from barrow.train.objectives.objective import Mean
from barrow.train.state import TrainState
from barrow.train.step import StepMetrics
from barrow.train.tasks.own_data import placed

KL = "kl"
Arrays = dict[str, npt.NDArray[Any]]


class RolloutError(BarrowError):
    """What the sampler drew and what the update computes do not belong together."""


@dataclass(eq=False)
class RolloutStep:
    """(state, prompts) → (state, metrics), as `train.step.Step`.

    Rows have one shape, that of the longest prompt and answer: memory fails at the first step or
    never.
    """

    objective: PolicyObjective
    programs: Programs
    sampler: Sampler
    data: PromptData
    kept: Kept
    accumulate: int
    sharding: Any = None

    def __call__(self, state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        """One step: the answers of all prompts, and every update from them."""
        policy, data = self.objective.policy, self.data
        step = int(state.step)
        items = np.asarray(batch["items"])
        items = items[items >= 0]
        drawn = self.sampler.draw(
            state,
            [data.ids[item] for item in items],
            answers=data.settings.answers,
            max_tokens=data.settings.max_tokens,
            stops=data.stops,
            seed=data.settings.seed,
            step=step,
        )
        samples = self._samples(items, drawn)
        stop = policy.on_bad_reward == "stop"
        rewards, each, failed = rewarded(policy.rewards, samples, stop=stop)
        rows = self._rows(samples, drawn)
        epochs = [
            self._updates(
                Permutation(len(samples), derive(data.settings.seed, "epoch", step, epoch))(
                    np.arange(len(samples))
                )
            )
            for epoch in range(policy.epochs)
        ]
        # By the micro-batches of the first epoch: the bits of a row may depend on its place.
        rows |= self._measured(state, rows, [some for micro in epochs[0] for some in micro])
        kl = float(np.asarray(state.collections[KL])) if KL in state.collections else policy.kl
        rows["kl"] = np.full(len(samples), kl, np.float32)
        rows |= self._advantages(rows, rewards, kl)
        metrics = self._about(rows, rewards, each, failed)
        self._refuse_gap(metrics["gap"], step)
        self.kept.write(step, samples, drawn, rewards, each)
        found: list[StepMetrics] = []
        for micro in (micro for updates in epochs for micro in updates):
            sums = None
            for some in micro:
                sums = self.programs.add(state, sums, self._placed(rows, some))
            assert sums is not None
            state, measured = self.programs.update(state, sums)
            found.append(jax.device_get(measured))
            if len(found) == 1:
                _refuse_moved(found[0], step)
        state = replace(state, step=jnp.int32(step + 1))
        state = self._after(state, metrics, len(samples))
        return state, _summed(found, metrics)

    def _samples(self, items: Any, drawn: list[Drawn]) -> list[Sample]:
        data, answers = self.data, self.data.settings.answers
        return [
            Sample(
                data.texts[item],
                data.decoded(one),
                data.records[item].values,
                np.concatenate([data.ids[item], one.ids]),
                data.records[item].place,
            )
            for item, some in zip(items, _by(drawn, answers), strict=True)
            for one in some
        ]

    def _rows(self, samples: list[Sample], drawn: list[Drawn]) -> Arrays:
        """Tokens, targets, mask and the sampler's log-probabilities [rows, length]."""
        shape = (len(samples), self.data.length)
        out: Arrays = {name: np.zeros(shape, np.int32) for name in ("tokens", "targets", "mask")}
        out["sampled"] = np.zeros(shape, np.float32)
        for line, (sample, one) in enumerate(zip(samples, drawn, strict=True)):
            last = len(sample.ids) - 1
            at = slice(last - len(one.ids), last)
            out["tokens"][line, :last] = sample.ids[:-1]
            out["targets"][line, :last] = sample.ids[1:]
            out["mask"][line, at] = 1
            out["sampled"][line, at] = one.logprobs
        return out

    def _updates(self, order: Any) -> list[list[npt.NDArray[np.int64]]]:
        """The rows of each micro-batch of each update, filled up for the devices (−1)."""
        devices = 1 if self.sharding is None else len(self.sharding.device_set)

        def filled(some: Any) -> npt.NDArray[np.int64]:
            return np.concatenate([some, np.full(-len(some) % devices, -1)])

        chunks = np.split(order, self.objective.policy.minibatches)
        return [[filled(some) for some in np.split(chunk, self.accumulate)] for chunk in chunks]

    def _placed(self, rows: Arrays, some: Any) -> Any:
        taken = {name: x[np.maximum(some, 0)] for name, x in rows.items()}
        taken["mask"] = taken["mask"] * (some >= 0)[:, None]
        if self.sharding is None:
            return {name: jnp.asarray(x) for name, x in taken.items()}
        return placed(taken, self.sharding)

    def _measured(self, state: TrainState, rows: Arrays, parts: list[Any]) -> Arrays:
        """Old log-probabilities, values and the reference's, from the programs of the update."""
        shape = rows["mask"].shape
        needs = self.objective.policy.needs_reference
        has_values = self.objective.policy.algorithm == "ppo"
        given = {"old": "logprobs"} | ({"old_values": "values"} if has_values else {})
        out: Arrays = {name: np.zeros(shape, np.float32) for name in given}
        if needs:
            out["reference"] = np.zeros(shape, np.float32)
        # Of the same shapes and names as in an update, so that the program is the same one.
        empty = {**rows, **out, "advantages": np.zeros(shape, np.float32)}
        if has_values:
            empty["returns"] = np.zeros(shape, np.float32)
        empty["kl"] = np.zeros(len(rows["mask"]), np.float32)
        for some in parts:
            here = self._placed(empty, some)
            outputs = self.programs.measure(state, here)
            found = {ours: outputs[name] for ours, name in given.items()}
            if needs:
                found["reference"] = self.programs.reference(state, here)
            real = some >= 0
            for name, x in found.items():
                out[name][some[real]] = np.asarray(x)[real]
        return out

    def _advantages(self, rows: Arrays, rewards: Any, kl: float) -> Arrays:
        policy, mask = self.objective.policy, rows["mask"].astype(np.float64)
        if policy.reward_clip is not None:
            rewards = np.clip(rewards, -policy.reward_clip, policy.reward_clip)
        far = np.zeros(mask.shape)
        if policy.kl_in == "reward" and "reference" in rows:
            far = kl * (rows["old"] - rows["reference"]).astype(np.float64) * mask
        if policy.algorithm == "ppo":
            worth = -far
            last = mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
            worth[np.arange(len(worth)), last] += rewards
            values = rows["old_values"].astype(np.float64)
            found, returns = generalised(worth, values, mask, gamma=policy.gamma, lam=policy.lam)
            found = whitened(found, mask) if policy.whitened else found
            return {
                "advantages": found.astype(np.float32),
                "returns": returns.astype(np.float32),
            }
        rewards = rewards - far.sum(axis=1)
        group = self.data.settings.answers
        if policy.algorithm == "rloo":
            each = leave_one_out(rewards, group)
        else:
            each = grouped(rewards, group, scaled=policy.scaled)
        return {"advantages": (each[:, None] * mask).astype(np.float32)}

    def _about(self, rows: Arrays, rewards: Any, each: Any, failed: int) -> dict[str, float]:
        mask = rows["mask"] > 0
        gap = np.abs(rows["old"] - rows["sampled"])[mask]
        found = {
            "reward": float(rewards.mean()),
            "reward_deviation": float(rewards.std()),
            **{f"reward_{name}": float(values.mean()) for name, values in each.items()},
            "answer_length": float(mask.sum(axis=1).mean()),
            "gap": float(gap.mean()),
            "gap_out": float((np.abs(np.expm1(rows["old"] - rows["sampled"]))[mask] > 0.1).mean()),
        }
        if "reference" in rows:
            far = (rows["old"] - rows["reference"]) * mask
            found["distance"] = float(far.sum(axis=1).mean())
        if failed:
            found["bad_rewards"] = float(failed)
        return found

    def _refuse_gap(self, gap: float, step: int) -> None:
        most = self.objective.policy.most_gap
        if not gap <= most:
            raise RolloutError(
                f"step {step}: log-probabilities of the sampler and of the update differ by "
                f"{gap:.4g} on average, more than objective.most_gap={most}"
            )

    def _after(self, state: TrainState, metrics: dict[str, float], num: int) -> TrainState:
        """The state with the next weight of the distance, if it is adjusted."""
        policy = self.objective.policy
        if KL not in state.collections:
            return state
        assert policy.kl_target is not None
        metrics["kl_weight"] = float(np.asarray(state.collections[KL]))
        now = AdaptiveKl(metrics["kl_weight"], policy.kl_target)
        weight = jnp.float32(now.after(metrics["distance"], num).weight)
        where = state.collections[KL].sharding
        kept = {**state.collections, KL: jax.device_put(weight, where)}
        return replace(state, collections=Tree(kept))


def _refuse_moved(measured: StepMetrics, step: int) -> None:
    moved = float(measured.metrics["moved"].total)
    if moved != 0:
        raise RolloutError(
            f"step {step}: the first pass must have ratios of exactly 1, but log-probabilities "
            f"moved by up to {moved:.3g}"
        )


def _by(drawn: list[Drawn], each: int) -> Iterator[list[Drawn]]:
    for start in range(0, len(drawn), each):
        yield drawn[start : start + each]


def _summed(found: list[StepMetrics], more: dict[str, float]) -> StepMetrics:
    """The metrics of all updates of a step; the gradient's norm is the largest."""
    loss, metrics = found[0].loss, dict(found[0].metrics)
    for one in found[1:]:
        loss = loss + one.loss
        metrics = {name: mean + one.metrics[name] for name, mean in metrics.items()}
    del metrics["moved"]
    worst = next((one for one in found if int(one.bad_tensor) != -1), found[-1])
    measured = {name: Mean(np.float64(x), np.float64(1)) for name, x in more.items()}  # type: ignore[arg-type]
    return StepMetrics(
        loss=loss,
        metrics={**metrics, **measured},
        grad_norm=np.max([one.grad_norm for one in found]),
        bad_tensor=worst.bad_tensor,
        scale=None,
    )
