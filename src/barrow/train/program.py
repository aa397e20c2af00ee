"""What a run computes with: its model, laid over a mesh, and the functions compiled for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.decoder import Decoder
from barrow.nn.module import axes, num_params
from barrow.nn.remat import ATTENTION_ONLY, EVERYTHING
from barrow.parallel import ZERO, constrainer, make_mesh, num_row_shards
from barrow.train.causal import causal_objective
from barrow.train.evaluate import Evaluate, make_evaluate
from barrow.train.optimizers import make_optimizer
from barrow.train.placement import Placement
from barrow.train.run import Run
from barrow.train.state import TrainState
from barrow.train.step import Step, init_state, make_step

_REMAT = {"none": None, "attention": ATTENTION_ONLY, "all": EVERYTHING}


@dataclass(frozen=True)
class Program:
    """The model; where its state lies; how a run begins; a step; the loss of held-out batches.

    `shapes` is the state without its numbers, for restoring a checkpoint.
    """

    model: Decoder
    placement: Placement
    shapes: TrainState
    start: Callable[[], TrainState]
    advance: Step
    evaluate: Evaluate

    @property
    def num_params(self) -> int:
        """Parameters of the model."""
        return num_params(self.shapes.params)


def make_program(run: Run) -> Program:
    """The program of a run on the devices that are here."""
    mesh = make_mesh(data=run.mesh.data, fsdp=run.mesh.fsdp)
    parts = num_row_shards(mesh) * run.step.accumulate
    for batch in run.batches:
        if batch % parts:
            raise ValueError(
                f"a batch of {batch} rows cannot be divided over {num_row_shards(mesh)} devices in "
                f"{run.step.accumulate} micro-batches: make it a multiple of {parts}"
            )
    zero = ZERO[run.mesh.zero]
    model = Decoder(
        run.model,
        unroll=run.unroll,
        remat=_REMAT[run.remat],
        dtype=jnp.dtype(run.step.precision.dtype).name,
    )
    tokens = jax.ShapeDtypeStruct((1, 1), jnp.int32)
    placement = Placement(mesh, zero, axes(model, tokens))
    optimizer = make_optimizer(run.optimizer, run.steps)
    constrain = constrainer(zero.activations, mesh)
    # Nothing is dropped in evaluation; that changes no parameter.
    calm = replace(model, config=replace(run.model, dropout=0.0))

    def start(placement: Placement | None = placement) -> TrainState:
        key = jax.random.key(run.seed)
        return init_state(
            lambda key: model.init(key, tokens), optimizer, run.step, key, placement=placement
        )

    def objective(model: Decoder) -> Any:
        return causal_objective(model, is_parted=run.is_parted, constrain=constrain)

    return Program(
        model=model,
        placement=placement,
        shapes=jax.eval_shape(lambda: start(None)),
        start=start,
        advance=make_step(objective(model), optimizer, run.step, placement=placement),
        evaluate=make_evaluate(objective(calm), run.step.precision, placement),
    )
