"""Settings of fine-tuning: labelled rows, and how a classification head is trained on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.labelled_rows import Limit
from barrow.stream.labelled.examples import KINDS, TAG_KEYS, Keys, Kind
from barrow.train.finetune.layer_groups import LayerGroups, frozen_depths
from barrow.train.finetune.metrics import METRICS
from barrow.train.objectives.labelled import labelled_objective
from barrow.train.objectives.objective import Objective
from barrow.train.optimizers import AdamW, Optimizer
from barrow.train.schedules import Linear
from barrow.train.step import StepSettings

if TYPE_CHECKING:
    from barrow.nn.trace import Constrain


@dataclass(frozen=True)
class LabelledRows:
    """Training rows and their order: the `data` of a run.

    - `path`: a .jsonl, .csv or .tsv file, or an archive; `validation`: another, or a share of it.
    - `kind`: a class of each text, a tag of each word, or a number for each text.
    - `keys`: keys of records; None for those of the kind; `limit`: the longest row.
    - `epochs`: times that all rows are trained on; `batch`: rows of a step.
    - `seed`: of the order of rows, and of a share for validation.
    """

    path: str
    kind: Kind
    validation: str | float = 0.1
    keys: Keys | None = None
    limit: Limit = field(default_factory=Limit)
    epochs: int = 3
    batch: int = 16
    seed: int = 0

    # Rows are padded to a multiple of devices and micro-batches.
    batches = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be {', '.join(KINDS)}, got {self.kind!r}")
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be ≥ 1, got {getattr(self, name)}")
        if not isinstance(self.validation, str) and not 0 < self.validation < 1:
            raise ValueError(
                f"validation must be a file, or a share between 0 and 1, got {self.validation}"
            )

    @property
    def read_keys(self) -> Keys:
        """The keys of records."""
        return self.keys or (TAG_KEYS if self.kind == "tag" else Keys())


@dataclass(frozen=True)
class Labels:
    """The objective: nats of each label, or squared errors; and which epoch's model is kept.

    - `freeze`: parts that are not trained: ``embeddings``, ``layers:0-3``.
    - `layer_decay`: what the learning rate is multiplied by from each layer to the one before it.
    - `metric`: decides which epoch is best; "" for the default of the kind.
    - `patience`: epochs without a better one after which the run ends; None never ends it.
    """

    freeze: tuple[str, ...] = ()
    layer_decay: float = 1.0
    metric: str = ""
    patience: int | None = None

    def __post_init__(self) -> None:
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be ≥ 1, got {self.patience}")

    def __call__(
        self, model: RobertaWithHead, *, is_training: bool, constrain: Constrain | None
    ) -> Objective:
        """See `MakeObjective`; validation rows get metrics (`finetune`), not a mean."""
        del is_training, constrain
        return labelled_objective(model, self.groups(model.config.layers))

    def groups(self, num_layers: int) -> LayerGroups:
        """Frozen layers and learning-rate factors, for so many layers."""
        return LayerGroups(num_layers, frozen_depths(self.freeze, num_layers), self.layer_decay)

    def check(self, kind: Kind) -> None:
        """Raise unless the metric applies to the kind."""
        if self.metric and self.metric not in METRICS[kind]:
            raise ValueError(
                f"the metric of {kind} must be one of {', '.join(METRICS[kind])}, got "
                f"{self.metric!r}"
            )


def usual_optimizer() -> AdamW:
    """The optimizer of RoBERTa's authors, with linear decay to 0."""
    return AdamW(schedule=Linear(peak=2e-5, warmup=0.06, end=0.0), beta2=0.98, eps=1e-6)


@dataclass(frozen=True)
class FinetuneSettings:
    """What is set of a run that fine-tunes; labels, steps and epochs' ends come from its rows.

    - `data`: the labelled rows and their order; `objective`: what is trained, and the best epoch.
    - `optimizer`: AdamW, Muon, Lion, … (`barrow.train`).
    - `step`: precision, micro-batches, clipping, averages.
    - `log_every`: steps between lines; None for at most 20 lines.
    - `seed`: of the head and of dropout; the data have their own.
    """

    data: LabelledRows
    objective: Labels = field(default_factory=Labels)
    optimizer: Optimizer = field(default_factory=usual_optimizer)
    step: StepSettings = field(default_factory=StepSettings)
    log_every: int | None = None
    seed: int = 0


def log_every(steps: int, epochs: int) -> int:
    """Steps between two lines, so that they are at most 20 with those of the epochs."""
    return max(10, -(-steps // max(1, 16 - epochs)))
