"""Settings of runs that learn from rewards: the prompts, and the algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from barrow.align.data.records import OnBad
from barrow.align.data.rows import EARLIER, Begin
from barrow.align.data.settings import check
from barrow.align.model import Aligned
from barrow.align.policy_losses import Reduction
from barrow.align.rollouts.rewards import Weighed
from barrow.nn.trace import Constrain
from barrow.train.objectives.objective import Objective

Algorithm = Literal["grpo", "rloo", "ppo"]


@dataclass(frozen=True)
class Prompts:
    """Prompts, and how many answers are drawn to them: {"prompt": …} and what rewards need.

    - `path`: a .jsonl or .parquet file, or an archive.
    - `prompts`: of a step; `answers`: to each prompt; `max_tokens`: of an answer.
    - `template`: a Jinja file, where the model has no chat template; `tokenizer`: as `template`.
    - `slots`: answers that are drawn at a time; None for what serving uses.
    - `on_bad`: raise stops at a bad record; count leaves it out.
    - `seed`: of the order of prompts, and of the answers.
    - `begin`: plain prompts begin as the tokenizer says, or always with its begin token.
    """

    path: str
    prompts: int = 8
    answers: int = 8
    max_tokens: int = 256
    template: str = ""
    tokenizer: str = ""
    slots: int | None = None
    on_bad: OnBad = "raise"
    seed: int = 0
    begin: Begin = "tokenizer"

    earlier = EARLIER
    batches = ()
    task = "barrow.align.tasks.rollouts:RolloutTask"

    def __post_init__(self) -> None:
        check(self)
        for name in ("prompts", "answers", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"data.{name} must be ≥ 1, got {getattr(self, name)}")


@dataclass(frozen=True)
class Policy:
    """How a policy learns from rewards.

    - `algorithm`: grpo (advantages in groups of answers), rloo (each answer against the others of
      its group) or ppo (a critic's values).
    - `rewards`: functions, models or checks, each with its weight.
    - `low`, `high`: ratios are clipped to 1 − low and 1 + high; `by`: how tokens are weighed, see
      `policy_losses.reduced` (rloo has whole answers).
    - `epochs`: times that a step learns from its answers; `minibatches`: updates of each.
    - `kl`: weight of the distance from the reference; `kl_in`: the loss or the reward;
      `kl_target`: with it, the weight is adjusted to keep the distance there.
    - `scaled`: of grpo, advantages are divided by their group's deviation.
    - `gamma`, `lam`: of ppo's advantages; `value_clip`, `value_weight`: of its values;
      `whitened`: whether advantages get mean 0 and variance 1.
    - `reward_clip`: rewards are clipped to ± this; None does not clip.
    - `most_weight`: the largest weight that corrects a token for the sampler's probability.
    - `most_gap`: a mean difference above it, between log-probabilities of the sampler and of the
      update, stops the run.
    - `on_bad_reward`: stop at a reward that fails or is not finite, or count it as 0.
    - `allow_code`: rewards may run what a model wrote (see docs/align.md).
    """

    algorithm: Algorithm = "grpo"
    rewards: tuple[Weighed, ...] = ()
    low: float = 0.2
    high: float = 0.2
    by: Reduction = "tokens"
    epochs: int = 1
    minibatches: int = 1
    kl: float = 0.0
    kl_in: Literal["loss", "reward"] = "loss"
    kl_target: float | None = None
    scaled: bool = True
    gamma: float = 1.0
    lam: float = 0.95
    value_clip: float = 0.2
    value_weight: float = 0.5
    whitened: bool = True
    reward_clip: float | None = None
    most_weight: float = 2.0
    most_gap: float = 0.5
    on_bad_reward: Literal["stop", "zero"] = "stop"
    allow_code: bool = False

    unit, measure = "token", "loss per token"

    def __post_init__(self) -> None:
        if not self.rewards:
            raise ValueError("a policy needs a reward; pass --reward module:function, or a model")
        if self.kl_in == "loss" and self.algorithm == "rloo" and self.kl:
            raise ValueError("rloo has the distance in the reward: set objective.kl_in=reward")
        for name in ("epochs", "minibatches"):
            if getattr(self, name) < 1:
                raise ValueError(f"objective.{name} must be ≥ 1, got {getattr(self, name)}")
        for name in ("kl", "low", "high", "value_weight"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"objective.{name} must be ≥ 0, got {getattr(self, name)}")
        if not self.most_weight >= 1:
            raise ValueError(f"objective.most_weight must be ≥ 1, got {self.most_weight}")
        if self.kl_target is not None and not (self.kl > 0 and self.kl_target > 0):
            raise ValueError("objective.kl_target needs a first weight: set objective.kl too")
        if not self.allow_code and any(one.runs_code for one in self.rewards):
            raise ValueError(
                "this reward runs code that a model wrote; pass --allow-code if you accept that"
            )

    @property
    def needs_reference(self) -> bool:
        """Whether the distance from the reference counts."""
        return self.kl > 0

    def __call__(
        self, model: Aligned, *, is_training: bool, constrain: Constrain | None
    ) -> Objective:
        """See `MakeObjective`."""
        from barrow.align.rollouts.objective import PolicyObjective

        del is_training
        # It has what an `Objective` has, and more that only rollouts use.
        return cast(Objective, PolicyObjective(model, self, constrain))
