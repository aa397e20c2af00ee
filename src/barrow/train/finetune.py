"""Fine-tuning: a pretrained encoder, a head of labels, and the best of some epochs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow import config
from barrow.checkpoint.checkpoints import Checkpoints
from barrow.errors import Diverged
from barrow.files import local_path
from barrow.models.head_outputs import head_outputs
from barrow.models.roberta_heads import RobertaWithHead
from barrow.models.text import open_tokenizer
from barrow.nn.tree import Tree
from barrow.parallel import make_mesh, num_row_shards, rows_sharding, whole
from barrow.stream import Prefetch
from barrow.stream.length_batches import LengthBatches
from barrow.train.finetune_folder import FinetuneFolder
from barrow.train.finetune_run import FinetuneRun
from barrow.train.finetune_start import Pretrained, pretrained
from barrow.train.interrupt import Interrupted, stop_on_signals
from barrow.train.judge import judged, refuse_metric, usual_metric
from barrow.train.labelled import labelled_objective
from barrow.train.labelled_data import Labelled, LabelledData, labelled_data
from barrow.train.layer_groups import LayerGroups, frozen_depths, grouped_optimizer
from barrow.train.progress import Progress
from barrow.train.state import TrainState
from barrow.train.step import Step, StepMetrics, bad_tensor_name, make_step
from barrow.train.trackers import JsonLines, Tracker


@dataclass(frozen=True)
class Prepared:
    """A run, ready to go: its model and first state, its data, the batches of its steps.

    `report` says in words what became of the pretrained parameters.
    """

    run: FinetuneRun
    start: Pretrained
    model: RobertaWithHead
    data: Labelled
    order: LengthBatches
    state: TrainState
    advance: Step
    metric: str
    report: str

    @property
    def num_steps(self) -> int:
        """Steps of all epochs."""
        return self.run.epochs * self.order.per_epoch

    @property
    def fingerprint(self) -> str:
        """A hash of all that is learned from and judged by."""
        return f"{self.data.train.fingerprint}-{self.data.validation.fingerprint}"


@dataclass(frozen=True)
class Finetuned:
    """How a run ended: which epoch was best, its measures, and where its model lies."""

    progress: Progress
    metrics: Mapping[str, float]
    folder: Path


def prepare(run: FinetuneRun) -> Prepared:
    """Open model and data, and make the first state and the step."""
    if jax.process_count() > 1:
        raise ValueError("fine-tuning runs in one process, over all devices that it has")
    start = pretrained(run.model)
    tokenizer = open_tokenizer(start.loaded.tokenizer, settings=start.loaded.tokenizer_config)
    data = labelled_data(run, tokenizer, start.config)
    metric = run.metric or usual_metric(run.task, data.labels)
    refuse_metric(metric, run.task, data.labels)
    model, params = start.with_head(run.task, len(data.labels), seed=run.seed)
    order = LengthBatches(tuple(map(len, data.train.rows)), run.batch, run.seed)
    num_steps = run.epochs * order.per_epoch
    groups = LayerGroups(
        start.config.layers, frozen_depths(run.freeze, start.config.layers), run.layer_decay
    )
    optimizer = grouped_optimizer(run.optimizer, num_steps, groups)
    _, of_run = jax.random.split(jax.random.key(run.seed))
    state = TrainState(
        step=jnp.int32(0),
        params=params,
        collections=Tree(),
        optimizer=jax.jit(optimizer.init)(params),
        key=of_run,
    )
    return Prepared(
        run,
        start,
        model,
        data,
        order,
        state,
        make_step(labelled_objective(model, groups), optimizer, run.step),
        metric,
        start.in_words(params["classifier"]),
    )


def finetune(
    run: FinetuneRun | Prepared,
    out: str | os.PathLike[str],
    *,
    trackers: Sequence[Tracker] = (),
) -> Finetuned:
    """Fine-tune; the model of the best epoch, settings, log and checkpoints go to the folder `out`.

    After each epoch the held-out rows are judged and the state is saved. A run that lies there goes
    on from its newest checkpoint, as if it had never stopped. Ctrl-C finishes the step, saves, and
    raises `Interrupted`; a loss or gradient that is not finite raises `Diverged`. What is given as
    `Prepared` is used up.
    """
    made = run if isinstance(run, Prepared) else prepare(run)
    run = made.run
    folder = FinetuneFolder(local_path(out))
    checkpoints = Checkpoints(folder.checkpoints, keep_last=1)
    mesh = make_mesh(devices=jax.devices()[: run.devices])
    state = jax.device_put(made.state, whole(mesh))
    begin, progress = checkpoints.latest(), Progress(made.metric)
    if begin is None:
        folder.write(run, made.fingerprint)
    else:
        folder.check(run, made.fingerprint)
        progress = config.from_dict(Progress, checkpoints.about(begin)["progress"])
        state = checkpoints.restore(begin, state)
    parts = num_row_shards(mesh) * run.step.accumulate
    num_rows = -(-run.batch // parts) * parts

    def batch(step: int) -> dict[str, Any]:
        found = made.data.train.batch(made.order(step), num_rows, made.model.config)
        return jax.device_put(found, rows_sharding(mesh))  # type: ignore[no-any-return]

    end = made.num_steps
    if progress.is_over(epochs=run.epochs, patience=run.patience):
        return _ended(folder, progress)
    with (
        _told(folder, made, begin or 0, trackers) as told,
        stop_on_signals() as stop,
        checkpoints,
        Prefetch(batch, start=begin or 0, stop=end) as batches,
    ):
        pending: tuple[int, StepMetrics] | None = None
        for step, rows in batches:
            state, metrics = made.advance(state, rows)
            # Looked at while the device works on the step behind it.
            _tell(made, told, pending)
            pending = step, metrics
            done = step + 1
            is_stopped = stop.asked
            if done % made.order.per_epoch == 0:
                found = evaluate(made.model, state.params, made.data.validation, made.data.labels)
                _tell(made, told, pending, found)
                pending = None
                progress = progress.after(found[made.metric])
                if progress.was_best:
                    _write_best(folder, made, state, progress, found)
                checkpoints.save(state, {"progress": progress})
                if progress.is_over(epochs=run.epochs, patience=run.patience):
                    break
            elif is_stopped:
                _tell(made, told, pending)
                checkpoints.save(state, {"progress": progress})
            if is_stopped:
                checkpoints.wait()
                raise Interrupted(
                    f"stopped after step {step}, with {end - done} to go; saved. To go on, give "
                    "the same command again"
                )
    return _ended(folder, progress)


def evaluate(
    model: RobertaWithHead, params: Mapping[str, Any], data: LabelledData, labels: Sequence[str]
) -> dict[str, float]:
    """All measures of a model over labelled rows, nothing dropped."""
    outputs = head_outputs(model, params, data.rows)
    if data.kind == "tag":
        outputs = [out[first] for out, first in zip(outputs, data.first, strict=True)]
    return judged(data.kind, outputs, data.targets, labels)


def _write_best(
    folder: FinetuneFolder,
    made: Prepared,
    state: TrainState,
    progress: Progress,
    found: Mapping[str, float],
) -> None:
    told = {
        "epoch": progress.best_epoch,
        "metric": made.metric,
        "rows": len(made.data.validation.rows),
        "metrics": _finite(found),
    }
    params = jax.tree.map(np.asarray, state.params)
    folder.write_best(made.model, params, made.data.labels, told, loaded=made.start.loaded)


def _tell(
    made: Prepared,
    trackers: Sequence[Tracker],
    pending: tuple[int, StepMetrics] | None,
    found: Mapping[str, float] | None = None,
) -> None:
    if pending is None:
        return
    step, metrics = pending
    loss, bad = float(metrics.loss.value), int(metrics.bad_tensor)
    if bad != -1 or not math.isfinite(loss):
        name = bad_tensor_name(made.state.params, bad) if bad < 0 else _names(made)[bad]
        rows = [made.data.train.places[i] for i in made.order(step)]
        raise Diverged(
            f"step {step}: the loss is {loss:.6g}, and the gradient of {name} is not finite: a "
            "lower learning rate, or a look at the rows\n" + "\n".join(f"  {r}" for r in rows[:8]),
            step=step,
        )
    if found is None and (step + 1) % made.run.log_every and step:
        return
    rate = made.run.optimizer.schedule.rate(np.float32(step), made.num_steps)
    values: dict[str, float | int] = {
        "epoch": made.order.epoch_of(step) + 1,
        "loss": loss,
        "learning_rate": float(rate),
        "grad_norm": float(metrics.grad_norm),
        **{name: float(mean.value) for name, mean in metrics.metrics.items()},
        **{f"held_out_{name}": value for name, value in _finite(found or {}).items()},
    }
    for tracker in trackers:
        tracker.log(step, values)


def _names(made: Prepared) -> list[str]:
    return [
        jax.tree_util.keystr(path, simple=True, separator="/")
        for path, _ in jax.tree_util.tree_leaves_with_path(made.state.params)
    ]


def _finite(found: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in found.items() if math.isfinite(value)}


@contextmanager
def _told(
    folder: FinetuneFolder, made: Prepared, start: int, trackers: Sequence[Tracker]
) -> Iterator[Sequence[Tracker]]:
    """The trackers, begun, and closed in the end."""
    begun: list[Tracker] = []
    try:
        for tracker in (JsonLines(folder.log), *trackers):
            tracker.begin({**config.to_dict(made.run), "steps": made.num_steps}, start)
            begun.append(tracker)
        yield begun
    finally:
        for tracker in begun:
            tracker.close()


def _ended(folder: FinetuneFolder, progress: Progress) -> Finetuned:
    import json

    told = json.loads((folder.best / "metrics.json").read_bytes())
    return Finetuned(progress, told["metrics"], folder.best)
