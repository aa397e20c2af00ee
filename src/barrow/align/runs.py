"""Alignment runs: a model and data to a `Run` that `barrow.train.fit` trains."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from barrow.align.data.settings import Chats, Pairs
from barrow.align.lora import Lora
from barrow.align.model import AlignedConfig, Head
from barrow.align.objectives import Preference, Rewards, Sft
from barrow.align.rollouts.rewards import Weighed
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.tasks.start import described
from barrow.errors import ConfigError
from barrow.models.quantized import is_quantized_tree
from barrow.train.objectives.objective import MakeObjective
from barrow.train.optimizers import AdamW, Optimizer
from barrow.train.run import CheckpointSettings, EvaluationSettings, MeshSettings, Remat, Run
from barrow.train.schedules import Linear
from barrow.train.step import StepSettings
from barrow.train.tasks.task import task_of


def _optimizer(peak: float) -> AdamW:
    return AdamW(schedule=Linear(peak=peak, warmup=0.03, end=0.0), beta2=0.999, weight_decay=0.0)


@dataclass(frozen=True)
class AlignSettings:
    """What is set of an alignment run; the model comes from where it starts.

    - `data`: chats, pairs, or prompts, and their order; `objective`: the loss, or the algorithm and
      its rewards.
    - `lora`: adapters; None trains all parameters. lora.rank=16 is enough to ask for them.
    - `critic`: of ppo: shared has a head on the policy's states, own a decoder of its own.
    - `epochs`: times that all rows are read; `steps`: instead, so many.
    - `optimizer`: AdamW, Muon, Lion, … (`barrow.train`).
    - `step`: precision, micro-batches of an update, clipping, averages; `mesh`: the devices.
    - `evaluation`: when validation rows are read; `checkpoint`: when one is written.
    - `log_every`: steps between lines; `remat`: what the backward pass recomputes.
    - `seed`: of adapters and heads; the data have their own.
    """

    data: Chats | Pairs | Prompts
    objective: MakeObjective
    lora: Lora | None = None
    critic: Literal["shared", "own"] = "shared"
    epochs: float = 1.0
    steps: int | None = None
    optimizer: Optimizer = field(default_factory=lambda: _optimizer(2e-5))
    step: StepSettings = field(default_factory=StepSettings)
    mesh: MeshSettings = field(default_factory=MeshSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    checkpoint: CheckpointSettings = field(default_factory=lambda: CheckpointSettings(keep_last=1))
    log_every: int = 10
    remat: Remat = "none"
    seed: int = 0


def sft_settings(path: str) -> AlignSettings:
    """Fine-tuning on chats."""
    return AlignSettings(Chats(path), Sft())


def reward_settings(path: str) -> AlignSettings:
    """A reward model of pairs."""
    return AlignSettings(Pairs(path), Rewards(), optimizer=_optimizer(1e-5))


def preference_settings(path: str) -> AlignSettings:
    """A policy that prefers the chosen answers of pairs: DPO, IPO or KTO."""
    return AlignSettings(Pairs(path), Preference(), optimizer=_optimizer(1e-6))


def grpo_settings(path: str, rewards: tuple[Weighed, ...]) -> AlignSettings:
    """Advantages in groups of answers; objective.algorithm=rloo for the other."""
    return rollout_settings(Prompts(path), Policy("grpo", rewards), 1e-6)


def ppo_settings(path: str, rewards: tuple[Weighed, ...]) -> AlignSettings:
    """PPO with the constants of DeepSpeed-Chat: the distance is in the reward, which is clipped."""
    how: dict[str, Any] = {"kl": 0.1, "kl_in": "reward", "reward_clip": 5.0, "minibatches": 2}
    data = Prompts(path, prompts=32, answers=1)
    return rollout_settings(data, Policy("ppo", rewards, **how), 9.65e-6)


def rollout_settings(data: Prompts, policy: Policy, rate: float) -> AlignSettings:
    """Learning from rewards: a hundred steps, each in the log."""
    often = CheckpointSettings(every=20, keep_last=1)
    how: dict[str, Any] = {"optimizer": _optimizer(rate), "checkpoint": often, "log_every": 1}
    return AlignSettings(data, policy, steps=100, **how)


def align_run(settings: AlignSettings, init: str) -> Run:
    """The run that such settings give on the model at `init`."""
    body, first = described(init)
    if settings.lora is None and is_quantized_tree(first.params):
        raise ConfigError(
            f"{init} is quantized, and integers are not trained: pass lora.rank=16 for adapters "
            "beside them, or the model that it was made from"
        )
    objective, rows = settings.objective, settings.data
    head: Head = "reward" if isinstance(objective, Rewards) else "none"
    if isinstance(objective, Policy) and objective.algorithm == "ppo":
        head = settings.critic
    model = AlignedConfig(
        body,
        settings.lora,
        head=head,
        # A loss of others is one of preferences, and has a reference.
        reference=settings.lora is None and getattr(objective, "needs_reference", True),
        frozen="float32" if settings.step.precision.name == "fp32" else "bfloat16",
    )
    places: dict[str, Any] = {
        name: str(Path(place).resolve())
        for name in ("path", "validation", "template")
        if (place := getattr(rows, name, "")) and Path(place).exists()
    }
    # A policy's loss is around 0: a leap says nothing.
    more: dict[str, Any] = {"prefetch": 1, "diverged": None} if isinstance(rows, Prompts) else {}
    run = Run(
        model,
        replace(rows, **places),
        settings.steps or 1,
        init=init,
        objective=objective,
        optimizer=settings.optimizer,
        step=settings.step,
        mesh=settings.mesh,
        evaluation=settings.evaluation,
        checkpoint=settings.checkpoint,
        log_every=settings.log_every,
        remat=settings.remat,
        seed=settings.seed,
        **more,
    )
    if settings.steps is not None:
        return run
    data: Any = task_of(run).data()
    return replace(run, steps=data.order.steps(settings.epochs))
