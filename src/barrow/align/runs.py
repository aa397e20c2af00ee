"""Alignment runs: a model and data to a `Run` that `barrow.train.fit` trains."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from barrow.align.data.settings import Chats, Pairs
from barrow.align.lora import Lora
from barrow.align.model import AlignedConfig
from barrow.align.objectives import Preference, Rewards, Sft
from barrow.align.rollouts.rewards import Weighed
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.tasks.start import described
from barrow.align.tasks.static import open_data
from barrow.train.objectives.objective import MakeObjective
from barrow.train.optimizers import AdamW, Optimizer
from barrow.train.run import CheckpointSettings, EvaluationSettings, MeshSettings, Remat, Run
from barrow.train.schedules import Linear
from barrow.train.step import StepSettings


def _optimizer(peak: float) -> AdamW:
    return AdamW(schedule=Linear(peak=peak, warmup=0.03, end=0.0), beta2=0.999, weight_decay=0.0)


@dataclass(frozen=True)
class AlignSettings:
    """What is set of an alignment run; the model comes from where it starts.

    - `data`: chats or pairs, and their order; `objective`: the loss.
    - `lora`: adapters; None trains all parameters. lora.rank=16 is enough to ask for them.
    - `epochs`: times that all rows are read; `steps`: instead, so many.
    - `optimizer`: AdamW, Muon, Lion, … (`barrow.train`).
    - `step`: precision, micro-batches, clipping, averages; `mesh`: how devices share the work.
    - `evaluation`: when validation rows are read; `checkpoint`: when one is written.
    - `log_every`: steps between lines; `remat`: what the backward pass recomputes.
    - `seed`: of adapters and heads; the data have their own.
    """

    data: Chats | Pairs
    objective: MakeObjective
    lora: Lora | None = None
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


def align_run(settings: AlignSettings, init: str) -> Run:
    """The run that such settings give on the model at `init`."""
    body, _ = described(init)
    model = AlignedConfig(
        body,
        settings.lora,
        head="reward" if isinstance(settings.objective, Rewards) else "none",
        reference=settings.lora is None and not isinstance(settings.objective, (Sft, Rewards)),
        frozen="float32" if settings.step.precision.name == "fp32" else "bfloat16",
    )
    rows = settings.data
    places: dict[str, Any] = {
        name: str(Path(place).resolve())
        for name in ("path", "validation", "template")
        if (place := getattr(rows, name)) and Path(place).exists()
    }
    run = Run(
        model,
        replace(rows, **places),
        settings.steps or 1,
        init=init,
        objective=settings.objective,
        optimizer=settings.optimizer,
        step=settings.step,
        mesh=settings.mesh,
        evaluation=settings.evaluation,
        checkpoint=settings.checkpoint,
        log_every=settings.log_every,
        remat=settings.remat,
        seed=settings.seed,
    )
    if settings.steps is not None:
        return run
    return replace(run, steps=open_data(run, run.data.path)[0].order.steps(settings.epochs))  # type: ignore[union-attr]


@dataclass(frozen=True)
class RolloutSettings:
    """What is set of a run that learns from rewards; the model comes from where it starts.

    - `data`: prompts, and how many answers are drawn; `objective`: the algorithm and its rewards.
    - `lora`: adapters; None trains all parameters. lora.rank=16 is enough to ask for them.
    - `critic`: of ppo: shared has a head on the policy's states, own a decoder of its own.
    - `steps`: each draws answers and learns from them.
    - `optimizer`: AdamW, Muon, Lion, … (`barrow.train`).
    - `step`: precision, micro-batches of an update, clipping, averages; `mesh`: the devices.
    - `checkpoint`: when one is written; `log_every`: steps between lines.
    - `remat`: what the backward pass recomputes; `seed`: of adapters; the data have their own.
    """

    data: Prompts
    objective: Policy
    lora: Lora | None = None
    critic: Literal["shared", "own"] = "shared"
    steps: int = 100
    optimizer: Optimizer = field(default_factory=lambda: _optimizer(1e-6))
    step: StepSettings = field(default_factory=StepSettings)
    mesh: MeshSettings = field(default_factory=MeshSettings)
    checkpoint: CheckpointSettings = field(
        default_factory=lambda: CheckpointSettings(every=20, keep_last=1)
    )
    log_every: int = 1
    remat: Remat = "none"
    seed: int = 0


def grpo_settings(path: str, rewards: tuple[Weighed, ...]) -> RolloutSettings:
    """Advantages in groups of answers; objective.algorithm=rloo for the other."""
    return RolloutSettings(Prompts(path), Policy("grpo", rewards))


def ppo_settings(path: str, rewards: tuple[Weighed, ...]) -> RolloutSettings:
    """PPO with the constants of DeepSpeed-Chat: the distance is in the reward, which is clipped."""
    policy = Policy(
        "ppo", rewards, kl=0.1, kl_in="reward", reward_clip=5.0, minibatches=2, by="tokens"
    )
    data = Prompts(path, prompts=32, answers=1)
    return RolloutSettings(data, policy, optimizer=_optimizer(9.65e-6))


def rollout_run(settings: RolloutSettings, init: str) -> Run:
    """The run that such settings give on the model at `init`."""
    body, _ = described(init)
    policy, rows = settings.objective, settings.data
    model = AlignedConfig(
        body,
        settings.lora,
        head=settings.critic if policy.algorithm == "ppo" else "none",
        reference=settings.lora is None and policy.needs_reference,
        frozen="float32" if settings.step.precision.name == "fp32" else "bfloat16",
    )
    places: dict[str, Any] = {
        name: str(Path(place).resolve())
        for name in ("path", "template")
        if (place := getattr(rows, name)) and Path(place).exists()
    }
    return Run(
        model,
        replace(rows, **places),
        settings.steps,
        init=init,
        objective=policy,
        optimizer=settings.optimizer,
        step=settings.step,
        mesh=settings.mesh,
        checkpoint=settings.checkpoint,
        log_every=settings.log_every,
        prefetch=1,
        remat=settings.remat,
        # A policy's loss is around 0: a leap says nothing.
        diverged=None,
        seed=settings.seed,
    )
