"""Fine-tuning: a run that trains a classification head on an encoder and keeps the best epoch.

`fit` trains it as any other run. After each epoch the validation rows are evaluated, and the model
of the best epoch is written to `best/` in the run's folder.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow import config
from barrow.checkpoint import Checkpoints
from barrow.files import local_path
from barrow.models.load import Loaded
from barrow.models.open_model import of_kind, open_model
from barrow.models.roberta.head_outputs import head_outputs
from barrow.models.roberta.heads import LabelledConfig, RobertaWithHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.nn.tree import Tree
from barrow.stream.labelled.length_batches import LengthBatches
from barrow.train.finetune.data import Labelled, LabelledData, LabelledStream, labelled_data
from barrow.train.finetune.folder import FinetuneFolder
from barrow.train.finetune.layer_groups import grouped_optimizer
from barrow.train.finetune.metrics import LOWER, compute_metrics, refuse_metric, usual_metric
from barrow.train.finetune.settings import FinetuneSettings, LabelledRows, Labels, log_every
from barrow.train.fit import fit
from barrow.train.run import CheckpointSettings, EvaluationSettings, Run
from barrow.train.state import TrainState
from barrow.train.tasks.task import Data, Work
from barrow.train.trackers import Tracker

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.train.objectives.objective import Objective


@dataclass(frozen=True)
class Finetuned:
    """The result of a run: the best epoch, its metrics, and the path of its model."""

    progress: Progress
    metrics: Mapping[str, float]
    folder: Path


@dataclass(frozen=True)
class _Opened:
    """What was read from files: the encoder without its parameters, and the rows."""

    loaded: Loaded
    config: RobertaConfig
    rows: Labelled


@lru_cache(maxsize=1)
def _open(rows: LabelledRows, init: str) -> _Opened:
    loaded = open_model(init, dtype="float32", unstack=True)
    model: Any = of_kind(loaded, init, Roberta, RobertaWithHead)
    body = replace(model.config, mlm_head=False, pooler=False)
    tokenizer = loaded.words.open()
    return _Opened(replace(loaded, params=Tree()), body, labelled_data(rows, tokenizer, body))


def finetune_run(settings: FinetuneSettings, init: str) -> Run:
    """The run that fine-tunes the encoder at `init` on labelled rows."""
    rows = settings.data
    places: dict[str, Any] = {
        name: str(Path(place).resolve())
        for name in ("path", "validation")
        if isinstance(place := getattr(rows, name), str) and Path(place).exists()
    }
    rows = replace(rows, **places)
    found = _open(rows, init)
    per_epoch = LengthBatches(found.rows.lengths, rows.batch, rows.seed).per_epoch
    steps = rows.epochs * per_epoch
    return Run(
        LabelledConfig(found.config, rows.kind, found.rows.labels),
        rows,
        steps,
        init=init,
        objective=settings.objective,
        optimizer=settings.optimizer,
        step=settings.step,
        evaluation=EvaluationSettings(every=per_epoch),
        checkpoint=CheckpointSettings(every=per_epoch, keep_last=1),
        log_every=settings.log_every or log_every(steps, rows.epochs),
        seed=settings.seed,
    )


def finetune(
    run: Run, out: str | os.PathLike[str], *, trackers: Sequence[Tracker] = ()
) -> Finetuned:
    """`fit`, and its result; the model of the best epoch is in `out`/best."""
    fit(run, out, trackers=trackers)
    folder = FinetuneFolder(local_path(out))
    kept = Checkpoints(folder.path / "checkpoints")
    step = kept.latest()
    assert step is not None
    progress = config.from_dict(Progress, kept.about(step)["progress"])
    saved = json.loads((folder.best / "metrics.json").read_bytes())
    return Finetuned(progress, saved["metrics"], folder.best)


@dataclass(frozen=True)
class FinetuneTask:
    """The task of a run whose model is an encoder with a classification head."""

    run: Run
    unit = "row"
    # Layers are not stacked, so that each can be frozen; the head is new.
    is_apart = True
    fresh = ("classifier",)

    @property
    def measure(self) -> str:
        """Of labels nats."""
        return "squared error" if self.rows.kind == "regress" else "nats per label"

    @property
    def config(self) -> LabelledConfig:
        """The encoder and its labels."""
        assert isinstance(self.run.model, LabelledConfig)
        return self.run.model

    @property
    def rows(self) -> LabelledRows:
        """The settings of the data."""
        assert isinstance(self.run.data, LabelledRows)
        return self.run.data

    @property
    def labels(self) -> Labels:
        """How labels are learned."""
        assert isinstance(self.run.objective, Labels)
        return self.run.objective

    def check(self) -> None:
        """Require labelled rows and an objective for labels."""
        if not isinstance(self.run.data, LabelledRows) or not isinstance(
            self.run.objective, Labels
        ):
            raise ValueError(
                "a classification head needs labelled rows: data=LabelledRows(…), "
                "objective=Labels(…); see finetune_run"
            )
        self.labels.check(self.rows.kind)
        self.labels.groups(self.config.body.layers)
        if self.run.step.precision.name not in ("fp32", "bf16"):
            raise ValueError(
                "the precision of fine-tuning must be fp32 or bf16, got "
                f"{self.run.step.precision.name}"
            )

    @cached_property
    def model(self) -> RobertaWithHead:
        """Encoder and head."""
        return self.config.module(dtype=jnp.dtype(self.run.step.precision.dtype).name)

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.config.example

    def optimizer(self) -> optax.GradientTransformation:
        """The run's, by depth."""
        groups = self.labels.groups(self.config.body.layers)
        return grouped_optimizer(self.run.optimizer, self.run.steps, groups)

    def objective(self, constrain: Constrain | None) -> Objective:
        """Nats of the labels."""
        return self.labels(self.model, is_training=True, constrain=constrain)

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """None: rows are evaluated by `judge`."""
        return self.objective(constrain)

    def data(self) -> LabelledStream:
        """The training rows."""
        found = self._opened.rows
        order = LengthBatches(found.lengths, self.rows.batch, self.rows.seed)
        parts = self.run.step.accumulate
        return LabelledStream(found, order, self.config.body, self.rows.epochs, parts)

    def validation(self, data: Data) -> None:
        """None: rows are evaluated by `judge`."""
        del data

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Rows, by 6N operations for each token."""
        rows, length = batch["tokens"].shape
        return Work(rows, 6.0 * num_params * rows * length)

    def fitted(self) -> Run:
        """As it is."""
        return self.run

    def judge(self, folder: Path, about: Mapping[str, Any]) -> Epochs:
        """The evaluator of the run in a folder; `about` is that of its checkpoint."""
        found = self._opened.rows
        metric = self.labels.metric or usual_metric(self.rows.kind, found.labels)
        refuse_metric(metric, self.rows.kind, found.labels)
        known = about.get("progress")
        progress = Progress(metric) if known is None else config.from_dict(Progress, known)
        return Epochs(self, FinetuneFolder(folder), progress)

    @property
    def _opened(self) -> _Opened:
        return _open(self.rows, self.run.init)


class Epochs:
    """Evaluates the validation rows, writes the best model, and decides when a run is over."""

    def __init__(self, task: FinetuneTask, folder: FinetuneFolder, progress: Progress) -> None:
        self._task, self._folder, self._progress = task, folder, progress

    @property
    def is_over(self) -> bool:
        """Whether all epochs are done, or enough of them without a better one."""
        patience = self._task.labels.patience
        return self._progress.is_over(epochs=self._task.rows.epochs, patience=patience)

    def measures(self, state: TrainState) -> dict[str, float]:
        """All metrics of the validation rows; the best model is written."""
        task, opened = self._task, self._task._opened
        rows, labels = opened.rows.validation, opened.rows.labels
        found = evaluate(task.model, state.params, rows, labels)
        self._progress = self._progress.after(found[self._progress.metric])
        if self._progress.was_best and jax.process_index() == 0:
            report = {
                "epoch": self._progress.best_epoch,
                "metric": self._progress.metric,
                "rows": len(rows.rows),
                "metrics": {name: value for name, value in found.items() if math.isfinite(value)},
            }
            params = jax.tree.map(np.asarray, state.params)
            self._folder.write_best(task.model, params, labels, report, loaded=opened.loaded)
        return found

    def about(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"progress": config.to_dict(self._progress)}


def evaluate(
    model: RobertaWithHead, params: Mapping[str, Any], data: LabelledData, labels: Sequence[str]
) -> dict[str, float]:
    """All metrics of a model over labelled rows, without dropout."""
    outputs = head_outputs(model, params, data.rows)
    if data.kind == "tag":
        outputs = [out[first] for out, first in zip(outputs, data.first, strict=True)]
    return compute_metrics(data.kind, outputs, data.targets, labels)


@dataclass(frozen=True)
class Progress:
    """Epochs done; the best of them (counted from 1, 0 for none) and what it was measured at.

    A NaN metric is worse than any number.
    """

    metric: str
    epochs: int = 0
    best_epoch: int = 0
    best: float | None = None

    def after(self, value: float) -> Progress:
        """What is known after one more epoch."""
        done = self.epochs + 1
        if self.best_epoch and not self._is_better(value):
            return Progress(self.metric, done, self.best_epoch, self.best)
        return Progress(self.metric, done, done, value if math.isfinite(value) else None)

    def is_over(self, *, epochs: int, patience: int | None) -> bool:
        """Whether all epochs are done, or `patience` of them without a better one."""
        waited = self.epochs - self.best_epoch
        return self.epochs >= epochs or (patience is not None and waited >= patience)

    @property
    def was_best(self) -> bool:
        """Whether the last epoch is the best so far."""
        return self.epochs > 0 and self.best_epoch == self.epochs

    def _is_better(self, value: float) -> bool:
        if not math.isfinite(value):
            return False
        if self.best is None:
            return True
        return value < self.best if self.metric in LOWER else value > self.best
