"""A training run as data: what determines its numbers, and how it is run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from barrow import config
from barrow.models.family import Family
from barrow.nn.layers.remat import ATTENTION_ONLY, CHEAP, EVERYTHING, Policy
from barrow.parallel.offload import Offload
from barrow.stream import StreamSettings
from barrow.stream.pairs import PairSettings
from barrow.train.objectives.objective import MakeObjective
from barrow.train.optimizers import AdamW, Optimizer
from barrow.train.step import StepSettings
from barrow.train.tasks.own_data import Batches, BatchSizes


@dataclass(frozen=True)
class MeshSettings:
    """Devices in a grid; one of its sides may be −1, for what is left.

    - `data`: devices that share the rows; `fsdp`: those that share rows and state.
    - `zero`: the ZeRO stage, 0 to 3.
    - `expert`: devices that share the rows, and the experts of each layer.
    - `sequence`: devices that share the tokens of each row.
    - `tensor`: devices that share heads, hidden units and the vocabulary.
    - `stage`: devices that share the layers, as a pipeline; `micro_batches`: that go through it, by
      default twice as many as stages; `rounds`: so often each goes through all stages.
    - `offload`: where large moments of the optimizer are kept: none (on the devices), host or disk;
      `offload_masters`: the float32 parameters too, of which the devices have 16-bit copies.
    """

    data: int = -1
    fsdp: int = 1
    zero: int = 0
    expert: int = 1
    sequence: int = 1
    tensor: int = 1
    stage: int = 1
    micro_batches: int | None = None
    rounds: int = 1
    offload: Offload = "none"
    offload_masters: bool = False

    def __post_init__(self) -> None:
        if self.offload not in ("none", "host", "disk"):
            raise ValueError(f"offload must be none, host or disk, got {self.offload!r}")
        if self.offload_masters and self.offload == "none":
            raise ValueError("mesh.offload_masters needs a place: set mesh.offload=host, or disk")
        if self.zero not in (0, 1, 2, 3):
            raise ValueError(f"zero must be 0, 1, 2 or 3, got {self.zero}")
        _refuse_below_one("mesh", micro_batches=self.micro_batches, rounds=self.rounds)
        if self.stage == 1 and (self.rounds > 1 or self.micro_batches is not None):
            raise ValueError("mesh: micro_batches and rounds are of a pipeline; set mesh.stage")


@dataclass(frozen=True)
class EvaluationSettings:
    """When the validation loss is computed; also at the end.

    - `every`: after so many steps; `batches`: of so many, always the first; None for all.
    """

    every: int | None = None
    batches: int | None = None

    def __post_init__(self) -> None:
        _refuse_below_one("evaluation", every=self.every, batches=self.batches)


@dataclass(frozen=True)
class CheckpointSettings:
    """When a checkpoint is written, besides at the end and when a run is stopped; and which stay.

    - `every`: after so many steps; `keep_last`: so many stay; `keep_every`: besides them, those
      of every so many steps.
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
    """The settings of a run. The model decides the kind of training (`task.task_of`).

    - `model`: the architecture; `steps`: how many are trained; `log_every`: steps between lines.
    - `optimizer`: AdamW, Muon, Lion, … (`barrow.train`); `mesh`: how devices share the work.
    - `evaluation`: when the validation loss is computed; `checkpoint`: when one is written.
    - `data`: rows, mixture and order of the batches; or `Batches` of your own.
    - `store`: the token store to train on; `pairs`: instead, the index of image–text pairs.
    - `validation`: the store, or the index, to evaluate with.
    - `tokenizer`: of the texts of pairs; a store has its own.
    - `init`: a run, folder or file of a model whose parameters the run starts from.
    - `objective`: the loss; None for that of the model's kind.
    - `step`: precision, micro-batches, clipping, averages.
    - `mask_documents`: documents are masked from each other, and their positions start at 0.
    - `unroll`: layers one after another in the program instead of a loop over them; faster to run,
      slower to compile.
    - `remat`: what the backward pass recomputes, to save memory: nothing, what is cheap (norms and
      activations), attention or all.
    - `prefetch`: batches prepared ahead, on half as many threads.
    - `diverged`: a loss above so many times the median of the last hundred, and a nat above it,
      stops the run; None never does.
    - `seed`: of the initial parameters and of dropout; the data have their own.
    """

    model: Family
    data: DataOf
    steps: int
    store: str = ""
    pairs: str = ""
    tokenizer: str = ""
    validation: str | None = None
    init: str = ""
    optimizer: Optimizer = field(default_factory=AdamW)
    objective: MakeObjective | None = None
    step: StepSettings = field(default_factory=StepSettings)
    mesh: MeshSettings = field(default_factory=MeshSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    log_every: int = 10
    prefetch: int = 2
    seed: int = 0
    mask_documents: bool = True
    unroll: bool = False
    remat: Remat = "none"
    diverged: float | None = 3.0

    def __post_init__(self) -> None:
        _refuse_below_one("run", steps=self.steps, log_every=self.log_every, prefetch=self.prefetch)
        if self.diverged is not None and not (math.isfinite(self.diverged) and self.diverged > 1):
            raise ValueError(f"diverged must be a factor > 1, or null, got {self.diverged}")
        if not 0 <= self.seed < 1 << 32:
            raise ValueError(f"run: seed must be from 0 to {(1 << 32) - 1}, got {self.seed}")
        from barrow.train.tasks.task import task_of

        task = task_of(self)
        if not isinstance(self.data, Batches):
            task.check()

    @property
    def seq_len(self) -> int:
        """Tokens of the longest row."""
        assert isinstance(self.data, StreamSettings)
        return self.data.longest

    @property
    def has_rows_of_tokens(self) -> bool:
        """Whether the data are a stream of tokens."""
        return isinstance(self.data, StreamSettings)

    @property
    def batches(self) -> tuple[int, ...]:
        """Rows of the global batches, of all phases."""
        return batches_of(self.data)


# Paths: data are identified by their contents.
PLACES = ("store", "pairs", "tokenizer", "validation", "init", "data.path", "data.validation")
# What may change when a run resumes: paths, how often it logs and saves, the devices and their
# micro-batches, how far it reads ahead, and the number of steps where the schedule permits it.
FREE = (
    *PLACES,
    *("mesh", "step.accumulate", "evaluation", "checkpoint", "log_every", "diverged"),
    *("steps", "prefetch"),
    "data.begin",  # where it matters, the hash of the rows differs
)


def all_settings(run: Run) -> dict[str, Any]:
    """Settings by key, without paths."""
    found = _leaves(config.to_dict(run))
    return {key: value for key, value in found if key not in PLACES}


def differences(before: Run, after: Run) -> list[str]:
    """Settings that affect the numbers and differ, as "key: before → after"."""
    old, new = (dict(_leaves(config.to_dict(run))) for run in (before, after))
    return [
        f"{key}: {old.get(key)!r} → {new.get(key)!r}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key) and not {key, key.split(".")[0]} & set(FREE)
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
            raise ValueError(f"{where}: {name} must be ≥ 1, got {count}")


DataOf = StreamSettings | PairSettings | Batches | BatchSizes


def token_settings(data: DataOf) -> StreamSettings:
    """The settings of a token stream; others are refused."""
    if not isinstance(data, StreamSettings):
        raise ValueError(
            "a language model needs a token store: data=StreamSettings(seq_len=…, batch=…)"
        )
    return data


def refuse_long_rows(length: int, context: int, more: str) -> None:
    """Raise if rows have more tokens than the model positions; `more` gives it enough."""
    if length > context:
        raise ValueError(
            f"rows have {length} tokens, but the model {context} positions: set "
            f"data.seq_len={context}, or {more}"
        )


def batches_of(data: DataOf) -> tuple[int, ...]:
    """Rows of the global batches, of all phases."""
    return () if isinstance(data, Batches) else data.batches


Remat = Literal["none", "cheap", "attention", "all"]


def policy_of(name: Remat) -> Policy | None:
    """The policy of a name; None where nothing is recomputed."""
    named: dict[Remat, Policy | None]
    named = {"none": None, "cheap": CHEAP, "attention": ATTENTION_ONLY, "all": EVERYTHING}
    return named[name]
