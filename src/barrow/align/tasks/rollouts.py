"""Runs that learn from rewards of their own answers: GRPO, RLOO and PPO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from barrow.align.data.batches import AlignData
from barrow.align.data.records import Bad
from barrow.align.rollouts.keep import FOLDER, Kept
from barrow.align.rollouts.programs import Programs
from barrow.align.rollouts.prompts import PromptData, open_prompts
from barrow.align.rollouts.rewards import RewardModel
from barrow.align.rollouts.sampler import Sampler
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.rollouts.step import KL, RolloutStep
from barrow.align.tasks.start import AlignTask, described, open_words
from barrow.errors import ConfigError
from barrow.train.run import Run
from barrow.train.tasks.task import Data, Work

if TYPE_CHECKING:
    import optax

    from barrow.parallel.placement import Placement
    from barrow.train.step import StepSettings


@dataclass(frozen=True)
class RolloutTask(AlignTask):
    """The task of a run whose data are `Prompts` and whose objective is a `Policy`."""

    @property
    def settings(self) -> Prompts:
        """The settings of the data."""
        assert isinstance(self.run.data, Prompts)
        return self.run.data

    @property
    def policy(self) -> Policy:
        """The settings of the algorithm."""
        assert isinstance(self.run.objective, Policy)
        return self.run.objective

    @property
    def is_apart(self) -> bool:
        """Under adapters layers are not stacked: the engine shares their arrays."""
        return self.config.lora is not None

    def check(self) -> None:
        """Require answers that can be compared, and divided into updates."""
        AlignTask.check(self)
        if self.policy.algorithm != "ppo" and self.settings.answers < 2:
            raise ValueError(
                f"{self.policy.algorithm} compares answers to the same prompt: data.answers must "
                f"be ≥ 2, got {self.settings.answers}"
            )
        total = self.settings.prompts * self.settings.answers
        parts = self.policy.minibatches * self.run.step.accumulate
        if total % parts:
            raise ValueError(
                f"{total} answers of a step cannot be divided into {self.policy.minibatches} "
                f"updates of {self.run.step.accumulate} micro-batches: make data.prompts · "
                f"data.answers a multiple of {parts}"
            )
        if jax.process_count() > 1:
            raise ValueError("rollouts need a single process; use devices of one machine")

    def optimizer(self) -> optax.GradientTransformation:
        """The run's, for all updates of all steps."""
        return self.run.optimizer.make(
            self.run.steps * self.policy.epochs * self.policy.minibatches
        )

    def data(self) -> AlignData:
        """The prompts, in order."""
        return self.prompts.data()

    @property
    def prompts(self) -> PromptData:
        """The prompts."""
        found, _ = _opened(self.settings, self.run.init)
        for one in self.policy.rewards:
            if isinstance(one.reward, RewardModel):
                _refuse_other_words(one.reward, found)
        return found

    def validation(self, data: Data) -> None:
        """None: the reward says how well it goes."""
        del data

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Tokens of all answers with their prompts, times the operations of an update."""
        del batch
        rows = self.settings.prompts * self.settings.answers
        length = self.prompts.length
        return Work(rows * length, rows * length * self.config.body.flops(num_params, length))

    def more(self) -> dict[str, Any]:
        """The weight of the distance, where it is adjusted."""
        return {} if self.policy.kl_target is None else {KL: jnp.float32(self.policy.kl)}

    def make_step(
        self,
        objective: Any,
        optimizer: optax.GradientTransformation,
        settings: StepSettings,
        *,
        placement: Placement,
        folder: Path | None = None,
    ) -> RolloutStep:
        """The step, as `train.step.make_step` makes one."""
        dtype = jnp.dtype(settings.precision.dtype).name
        prompts = self.prompts
        tokens = min(prompts.length + 1, self.config.body.context)
        sampler = Sampler(self.model, dtype=dtype, slots=self.settings.slots, tokens=tokens)
        return RolloutStep(
            objective,
            Programs(objective, optimizer, settings, placement),
            sampler,
            prompts,
            Kept(None if folder is None else folder / FOLDER),
            settings.accumulate,
            placement.rows(),
        )


@lru_cache(maxsize=2)
def _opened(settings: Prompts, init: str) -> tuple[PromptData, Bad]:
    architecture, _ = described(init)
    words = open_words(init, settings.tokenizer, settings.template, settings.begin)
    return open_prompts(settings, words, architecture.context)


def open_run_prompts(run: Run) -> tuple[PromptData, Bad]:
    """The prompts of a run, and what was left out."""
    assert isinstance(run.data, Prompts)
    return _opened(run.data, run.init)


def _refuse_other_words(reward: RewardModel, prompts: PromptData) -> None:
    if reward.tokenizer_hash != prompts.words.tokenizer.hash:
        raise ConfigError(
            f"the reward model {reward.path} has another tokenizer than the policy; train both "
            "from models with the same one"
        )
