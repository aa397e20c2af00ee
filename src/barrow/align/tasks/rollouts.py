"""Runs that learn from rewards of their own answers: GRPO, RLOO and PPO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from barrow.align.data.batches import AlignData
from barrow.align.data.records import Bad
from barrow.align.model import Aligned, AlignedConfig
from barrow.align.rollouts.keep import FOLDER, Kept
from barrow.align.rollouts.programs import Programs
from barrow.align.rollouts.prompts import PromptData, open_prompts
from barrow.align.rollouts.rewards import RewardModel
from barrow.align.rollouts.sampler import Sampler
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.rollouts.step import KL, RolloutStep
from barrow.align.tasks.start import open_words, started
from barrow.align.tasks.static import refuse_precision
from barrow.errors import ConfigError
from barrow.train.run import Run, policy_of
from barrow.train.tasks.task import Data, Work

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.parallel.placement import Placement
    from barrow.train.objectives.objective import Objective
    from barrow.train.program import Program
    from barrow.train.state import TrainState
    from barrow.train.step import StepSettings


@dataclass(frozen=True)
class RolloutTask:
    """The task of a run whose data are `Prompts` and whose objective is a `Policy`."""

    run: Run
    unit = "token"
    measure = "loss per token"

    @property
    def config(self) -> AlignedConfig:
        """The decoder, and what is trained of it."""
        assert isinstance(self.run.model, AlignedConfig)
        return self.run.model

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
        """Require a model and an algorithm for the data."""
        if not isinstance(self.run.model, AlignedConfig) or not isinstance(
            self.run.objective, Policy
        ):
            raise ValueError("prompts need a run that learns from rewards; see rollout_run")
        refuse_precision(self.run)
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

    @cached_property
    def model(self) -> Aligned:
        """The model, run as the settings say."""
        dtype = jnp.dtype(self.run.step.precision.dtype).name
        unroll = self.run.unroll or self.is_apart
        return self.config.module(unroll=unroll, remat=policy_of(self.run.remat), dtype=dtype)

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.config.example

    def optimizer(self) -> optax.GradientTransformation:
        """The run's, for all updates of all steps."""
        return self.run.optimizer.make(
            self.run.steps * self.policy.epochs * self.policy.minibatches
        )

    def objective(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        del constrain
        raise ConfigError("a run that learns from rewards names its objective")

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        return self.objective(constrain)

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

    def fitted(self) -> Run:
        """As it is."""
        return self.run

    def frozen(self) -> Any:
        """See `Started`."""
        shapes = self.model.frozen_shapes(apart=self.is_apart)
        if self.policy.kl_target is None:
            return shapes
        return shapes | {KL: jax.eval_shape(lambda: jnp.float32(0))}

    def start(self, program: Program) -> TrainState:
        """See `Started`."""
        more = {}
        if self.policy.kl_target is not None:
            more[KL] = jnp.float32(self.policy.kl)
        return started(self.run, program, apart=self.is_apart, more=more)

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
    from barrow.align.tasks.start import described

    architecture, _ = described(init)
    words = open_words(init, settings.tokenizer, settings.template)
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
