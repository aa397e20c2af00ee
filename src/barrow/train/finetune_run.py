"""A fine-tuning run as data: all that decides its numbers, and where it reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from barrow.models.labelled_rows import Limit
from barrow.stream.labelled import KINDS, TAG_KEYS, Keys, Kind
from barrow.train.optimizers import AdamW, Optimizer
from barrow.train.schedules import Linear
from barrow.train.step import StepSettings

# Which way each measure of held-out rows is better.
HIGHER = ("accuracy", "f1", "macro_f1", "matthews", "pearson", "spearman", "entity_f1")
LOWER = ("loss", "mse")
METRICS = {
    "classify": ("accuracy", "f1", "macro_f1", "matthews", "loss"),
    "tag": ("entity_f1", "accuracy", "macro_f1", "matthews", "loss"),
    "regress": ("pearson", "spearman", "mse", "loss"),
}


def usual_optimizer() -> AdamW:
    """What RoBERTa's authors fine-tuned with, a straight line down to 0."""
    return AdamW(schedule=Linear(peak=2e-5, warmup=0.06, end=0.0), beta2=0.98, eps=1e-6)


@dataclass(frozen=True)
class FinetuneRun:
    """The settings of a run.

    - `data`: what is learned from; `validation`: a file of the same kind, or a share of `data`.
    - `task`: a class of each text, a tag of each word, or a number for each text.
    - `model`: a Hugging Face folder of RoBERTa; its head of labels, if it has one, is left.
    - `freeze`: parts that stay as they are: ``embeddings``, ``layers:0-3``.
    - `layer_decay`: what the learning rate is multiplied by from each layer to the one before it.
    - `metric`: what says which epoch was best; "" for the task's usual one.
    - `patience`: epochs without a better one after which the run ends; None never ends it.
    - `seed`: of the head, of dropout, of the order of rows, and of a share for validation.
    - `devices`: so many, of those that are here; None for all.
    """

    data: str
    task: Kind
    model: str
    validation: str | float = 0.1
    keys: Keys | None = None
    limit: Limit = field(default_factory=Limit)
    freeze: tuple[str, ...] = ()
    layer_decay: float = 1.0
    epochs: int = 3
    batch: int = 16
    metric: str = ""
    patience: int | None = None
    optimizer: Optimizer = field(default_factory=usual_optimizer)
    step: StepSettings = field(default_factory=StepSettings)
    seed: int = 0
    log_every: int = 10
    devices: int | None = None

    def __post_init__(self) -> None:
        if self.task not in KINDS:
            raise ValueError(f"the task is {', '.join(KINDS)}, not {self.task!r}")
        for name in ("epochs", "batch", "patience", "log_every", "devices"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is at least 1, not {value}")
        if not isinstance(self.validation, str) and not 0 < self.validation < 1:
            raise ValueError(
                f"validation is a file, or a share between 0 and 1, not {self.validation}"
            )
        if self.metric and self.metric not in METRICS[self.task]:
            raise ValueError(
                f"{self.task} is measured by {', '.join(METRICS[self.task])}, not {self.metric!r}"
            )
        if self.step.precision.name not in ("fp32", "bf16"):
            raise ValueError(
                f"fine-tuning computes in fp32 or bf16, not {self.step.precision.name}"
            )

    @property
    def read_keys(self) -> Keys:
        """The keys of records."""
        return self.keys or (TAG_KEYS if self.task == "tag" else Keys())


# What may change between a run and its resumption; data are known by their content.
FREE = ("data", "validation", "model", "log_every", "devices")
