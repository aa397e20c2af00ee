"""The program of a run: its model, sharded over a mesh, and the compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh

from barrow.errors import ConfigError
from barrow.nn.compiled import compiled
from barrow.nn.layers.repeat import axes_apart, take_apart
from barrow.nn.module import Module, axes, init_collections, num_params
from barrow.nn.tree import paths
from barrow.parallel import AXES, ZERO, constrainer, make_mesh, num_row_shards
from barrow.parallel.offload import in_use, refuse_without_memory
from barrow.parallel.pipeline import STAGE, Schedule, schedule_of
from barrow.parallel.placement import Placement
from barrow.parallel.processes import Together
from barrow.train.fp8 import warn_if_slower
from barrow.train.objectives.objective import Mean, Objective
from barrow.train.offloaded_update import refuse_joint_updates
from barrow.train.one_bit import OneBit, OneBitAdam, OneBitStep
from barrow.train.run import Run
from barrow.train.state import TrainState
from barrow.train.step import Step, StepSettings, init_state, make_step
from barrow.train.tasks.task import Judged, Started, Task, task_of


@dataclass(frozen=True)
class Program:
    """The task, the sharding of the state, and the functions that start, step and evaluate.

    `start(given)` takes parameters, by path, that are known already.
    `shapes` is the state without its numbers, for restoring a checkpoint.
    """

    task: Task
    placement: Placement
    shapes: TrainState
    start: Callable[..., TrainState]
    advance: Step
    evaluate: Evaluate

    @property
    def model(self) -> Module:
        """The model."""
        return self.task.model

    @property
    def shardings(self) -> TrainState:
        """Where each part of the state is placed."""
        found: TrainState = self.placement.of_state(self.shapes, kept=True)
        return found

    def prepare(self, batch: Any) -> None:
        """Compile the step in a thread, where it can be."""
        if (prepare := getattr(self.advance, "prepare", None)) is not None:
            kept = jax.tree.map(
                lambda x, at: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=at),
                self.shapes,
                self.shardings,
            )
            prepare(kept, batch)

    @property
    def num_params(self) -> int:
        """Parameters of the model."""
        return num_params(self.shapes.params)


def make_program(run: Run, scratch: Path | None = None) -> Program:
    """The program of a run on the available devices; `scratch` is the folder for what it writes."""
    mesh = mesh_of(run)
    refuse_indivisible(run, mesh)
    task, zero = task_of(run), ZERO[run.mesh.zero]
    model, example, optimizer = task.model, task.example, task.optimizer()
    is_apart = getattr(task, "is_apart", False)

    def init(key: jax.Array) -> Any:
        made = model.init(key, *example)
        return take_apart(made, "layers") if is_apart else made

    logical = axes(model, *example)
    if is_apart:
        logical = axes_apart(logical, jax.eval_shape(init, jax.random.key(0)), "layers")
    shapes = jax.eval_shape(init, jax.random.key(0))
    refuse_uneven(run, mesh, logical, shapes)
    if run.step.precision.name == "fp8":
        warn_if_slower(_width(logical, shapes))
    masters = masters_outside(run, task, shapes) if run.mesh.offload_masters else {}
    placement = Placement(mesh, zero, logical, run.mesh.offload, scratch, masters)
    if run.mesh.offload != "none":
        refuse_without_memory(run.mesh.offload)
        refuse_joint_updates(optimizer, shapes)
    constrain: Any = constrainer(
        zero.activations, mesh, micro_batches=run.mesh.micro_batches, rounds=run.mesh.rounds
    )
    is_one_bit = isinstance(run.optimizer, OneBitAdam)
    if is_one_bit and not isinstance(optimizer, OneBit):
        raise ConfigError(f"{type(task).__name__} changes the optimizer: OneBitAdam cannot be used")
    if is_one_bit:
        constrain = None  # devices compute by themselves
    if run.objective is None:
        objective, evaluation = task.objective(constrain), task.evaluation(constrain)
    else:
        objective = run.objective(model, is_training=True, constrain=constrain)
        evaluation = run.objective(model, is_training=False, constrain=constrain)

    def start(
        given: Mapping[str, jax.Array] | None = None, placement: Placement | None = placement
    ) -> TrainState:
        return init_state(
            init,
            optimizer,
            run.step,
            jax.random.key(run.seed),
            collections=init_collections(model, *example),
            placement=placement,
            given=given,
        )

    make: Any = OneBitStep if is_one_bit else make_step
    if (own := getattr(task, "make_step", None)) is not None:
        make = partial(own, folder=scratch)
    whole: TrainState = jax.eval_shape(lambda: start(placement=None))
    if isinstance(task, Started):
        whole = replace(whole, collections=task.frozen())
    return Program(
        task=task,
        placement=placement,
        shapes=whole,
        start=start,
        advance=make(objective, optimizer, run.step, placement=placement),
        evaluate=make_evaluate(evaluation, run.step, placement),
    )


def _width(logical: Any, shapes: Any) -> int:
    """The largest dimension that a model's layers call "embed"; 0 if none is."""
    found = [0]

    def note(leaf: Any, names: tuple[str | None, ...]) -> None:
        found.extend(n for name, n in zip(names, leaf.shape, strict=True) if name == "embed")

    jax.tree.map(note, shapes, logical)
    return max(found)


def masters_outside(run: Run, task: Task, shapes: Any) -> dict[str, Any]:
    """The parameters that the devices have in 16 bits, by path, and the type of each."""
    cast = paths(jax.eval_shape(run.step.precision.cast, shapes))
    found = {path: x.dtype for path, x in cast.items() if x.dtype != jnp.float32}
    if not found:
        raise ConfigError(
            "mesh.offload_masters needs 16-bit copies on the devices; set step.precision.name=bf16"
        )
    if run.step.ema is not None or isinstance(task, Judged):
        what = "fine-tuning" if run.step.ema is None else "step.ema"
        raise ConfigError(f"{what} needs the masters on the devices; unset mesh.offload_masters")
    return found


def refuse_indivisible(run: Run, mesh: Mesh | AbstractMesh) -> None:
    """Raise unless micro-batches, devices and the pipeline divide the rows of every batch."""
    parts = num_row_shards(mesh) * run.step.accumulate
    for batch in run.batches:
        if batch % parts:
            raise ValueError(
                f"a batch of {batch} rows cannot be divided over {num_row_shards(mesh)} devices in "
                f"{run.step.accumulate} micro-batches: make it a multiple of {parts}"
            )
    pipeline_of(run, mesh)


# Dimensions that an axis of the mesh must divide: the axis, and what they count.
_DIVIDED = {
    "heads": ("tensor", "heads"),
    "mlp": ("tensor", "hidden units"),
    "experts": ("expert", "experts"),
    "layers": (STAGE, "repeated layers"),
}


def mesh_of(run: Run) -> Mesh:
    """The mesh of a run on the available devices."""
    return make_mesh(**{axis: getattr(run.mesh, axis) for axis in AXES})


def pipeline_of(run: Run, mesh: Mesh | AbstractMesh) -> Schedule | None:
    """The pipeline of a run's first batches; None without stages. Other batches must fit too."""
    if mesh.shape[STAGE] == 1:
        return None
    found = [
        schedule_of(
            batch // run.step.accumulate,
            mesh.shape[STAGE],
            parts=num_row_shards(mesh),
            micro_batches=run.mesh.micro_batches,
            rounds=run.mesh.rounds,
        )
        for batch in run.batches
    ]
    return found[0] if found else None


def refuse_uneven(run: Run, mesh: Mesh | AbstractMesh, logical: Any, shapes: Any) -> None:
    """Raise where an axis of the mesh does not divide what it is for."""
    rounds = {STAGE: run.mesh.rounds}
    sizes = [("sequence", "tokens of a row", run.seq_len)] if run.has_rows_of_tokens else []

    def note(leaf: Any, names: tuple[str | None, ...]) -> None:
        for name, size in zip(names, leaf.shape, strict=True):
            if name in _DIVIDED:
                sizes.append((*_DIVIDED[name], size))

    jax.tree.map(note, shapes, logical)
    if mesh.shape["expert"] > 1 and not any(axis == "expert" for axis, _, _ in sizes):
        raise ValueError(
            f"mesh.expert must be 1 for a model without experts, got {mesh.shape['expert']}; set "
            "model.experts.count, or use mesh.data"
        )
    if mesh.shape[STAGE] > 1 and not any(axis == STAGE for axis, _, _ in sizes):
        raise ValueError(f"mesh.stage={mesh.shape[STAGE]}, but no layers of this model are stacked")
    if getattr(run.model, "sparse", None) is not None:
        (heads,) = {size for _, what, size in sizes if what == "heads"}
        what = "heads of a device (sparse attention needs whole rows)"
        sizes.append(("sequence", what, heads // mesh.shape["tensor"]))
    for axis, what, size in sizes:
        times = rounds.get(axis, 1)
        if size % (mesh.shape[axis] * times):
            every = [n for n in range(1, mesh.size + 1) if mesh.size % n == 0]
            fits = [str(n) for n in every if size % (n * times) == 0]
            raise ValueError(
                f"mesh.{axis}={mesh.shape[axis]}{f' × rounds={times}' if times > 1 else ''} does "
                f"not divide the {size} {what}; "
                + (f"{axis} may be {', '.join(fits)}" if fits else f"rounds must divide {size}")
            )


# (state, batches) → means by name; that of the loss is "loss".
Evaluate = Callable[[TrainState, Iterable[Any]], dict[str, Mean]]


def make_evaluate(objective: Objective, settings: StepSettings, placement: Placement) -> Evaluate:
    """The mean of a loss and of its metrics over batches, computed as a step's is.

    Totals and weights are added in float64 on the host, so that the mean is that of all tokens,
    however they were divided into batches.
    """
    precision = settings.precision

    def mean(params: Any, collections: Any, batch: Any, key: jax.Array) -> dict[str, Mean]:
        used = placement.sharded(precision.cast(params), placement.zero.params)
        loss = objective.loss(precision.prepared(used), collections, batch, key)
        return {"loss": Mean(loss.total, loss.weight), **loss.metrics}

    one = Together(compiled(mean, deterministic=settings.deterministic))

    def evaluate(state: TrainState, batches: Iterable[Any]) -> dict[str, Mean]:
        params = in_use(state.params)
        parts = [one(params, state.collections, batch, state.key) for batch in batches]
        names = parts[0] if parts else ["loss"]
        return {name: _sum([part[name] for part in parts]) for name in names}

    return evaluate


def _sum(parts: list[Mean]) -> Mean:
    total = sum(float(part.total) for part in parts)
    weight = sum(float(part.weight) for part in parts)
    return Mean(np.float64(total), np.float64(weight))  # type: ignore[arg-type]
