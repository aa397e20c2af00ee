"""A training run as data: all that decides its numbers, and how it is run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from barrow import config
from barrow.models.decoder import DecoderConfig
from barrow.stream.choices import Choices
from barrow.train.optimizers import OptimizerSettings
from barrow.train.step import StepSettings


@dataclass(frozen=True)
class MeshSettings:
    """Devices along `data` and `fsdp` (one may be −1, for what is left), and the ZeRO stage."""

    data: int = -1
    fsdp: int = 1
    zero: int = 0

    def __post_init__(self) -> None:
        if self.zero not in (0, 1, 2, 3):
            raise ValueError(f"ZeRO has the stages 0, 1, 2 and 3, not {self.zero}")


@dataclass(frozen=True)
class EvaluationSettings:
    """The held-out loss is taken after every `every` steps and at the end.

    Of the first `batches` batches of the held-out store, always the same; None for all of it.
    """

    every: int | None = None
    batches: int | None = None

    def __post_init__(self) -> None:
        _refuse_below_one("evaluation", every=self.every, batches=self.batches)


@dataclass(frozen=True)
class CheckpointSettings:
    """A checkpoint is written after every `every` steps, at the end, and when a run is stopped.

    The last `keep_last` stay, and besides them those of every `keep_every` steps.
    """

    every: int | None = None
    keep_last: int = 3
    keep_every: int | None = None

    def __post_init__(self) -> None:
        _refuse_below_one(
            "checkpoint", every=self.every, keep_last=self.keep_last, keep_every=self.keep_every
        )


@dataclass(frozen=True)
class Run:
    """The settings of a run.

    - `store`, `held_out`: token stores to train on and to evaluate with.
    - `data`: rows, mixture and order of the batches.
    - `step`: precision, micro-batches, clipping, averages.
    - `is_parted`: attention and positions stop at the borders of documents.
    - `unroll`: layers one after another in the program instead of a loop over them; faster to run,
      slower to compile.
    - `remat`: what the backward pass computes again, to save memory: nothing, attention or all.
    - `diverged`: a loss above so many times the median of the last hundred, and a nat above it,
      stops the run; None lets it go on.
    - `seed`: of the first parameters and of dropout; the data have their own.
    """

    model: DecoderConfig
    data: Choices
    steps: int
    store: str = ""
    held_out: str | None = None
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    step: StepSettings = field(default_factory=StepSettings)
    mesh: MeshSettings = field(default_factory=MeshSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    log_every: int = 10
    seed: int = 0
    is_parted: bool = True
    unroll: bool = False
    remat: Literal["none", "attention", "all"] = "none"
    diverged: float | None = 3.0

    def __post_init__(self) -> None:
        _refuse_below_one("run", steps=self.steps, log_every=self.log_every)
        if self.diverged is not None and not (math.isfinite(self.diverged) and self.diverged > 1):
            raise ValueError(f"diverged is a factor above 1, or null, not {self.diverged}")
        if self.data.mlm is not None:
            raise ValueError("a decoder guesses the next token: leave out data.mlm")
        if self.seq_len > self.model.context:
            raise ValueError(
                f"rows have {self.seq_len} tokens and the model {self.model.context} positions: "
                f"data.seq_len={self.model.context}, or model.context={self.seq_len}"
            )

    @property
    def seq_len(self) -> int:
        """Tokens of the longest row."""
        if self.data.schedule is not None:
            return max(phase.seq_len for phase in self.data.schedule.phases)
        if self.data.seq_len is None or self.data.batch is None:
            raise ValueError("say data.seq_len and data.batch, or data.schedule")
        return self.data.seq_len

    @property
    def batches(self) -> tuple[int, ...]:
        """Rows of the global batches, of all phases."""
        if self.data.schedule is not None:
            return tuple(phase.batch for phase in self.data.schedule.phases)
        assert self.data.batch is not None  # seq_len refuses it
        return (self.data.batch,)


# What may change between a run and its resumption: where things lie (stores are known by their
# content), how often something is told or kept, and on how many devices it runs.
FREE = ("store", "held_out", "mesh", "evaluation", "checkpoint", "log_every", "diverged")


def differences(before: Run, after: Run) -> list[str]:
    """Settings that decide the numbers and differ, as "key: before → after"."""
    old, new = (dict(_leaves(config.to_dict(run))) for run in (before, after))
    return [
        f"{key}: {old.get(key)!r} → {new.get(key)!r}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key) and key.split(".")[0] not in FREE
    ]


def _leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{prefix}.{key}" if prefix else key)
    else:
        yield prefix, value


def _refuse_below_one(where: str, **counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ValueError(f"{where}: {name} is at least 1, not {count}")
