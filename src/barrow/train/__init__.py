"""The training step: a pure function of a state and a batch, on one device or a mesh of them."""

from __future__ import annotations

from barrow.train.causal import causal_objective
from barrow.train.loss_scale import LossScale, ScaleSettings
from barrow.train.objective import Loss, Mean, Objective
from barrow.train.optimizers import OptimizerSettings, decayed, make_optimizer
from barrow.train.placement import Placement
from barrow.train.precision import Precision, default_precision
from barrow.train.schedules import Schedule
from barrow.train.state import TrainState
from barrow.train.step import (
    Step,
    StepMetrics,
    StepSettings,
    bad_tensor_name,
    init_state,
    make_step,
)

__all__ = [
    "Loss",
    "LossScale",
    "Mean",
    "Objective",
    "OptimizerSettings",
    "Placement",
    "Precision",
    "ScaleSettings",
    "Schedule",
    "Step",
    "StepMetrics",
    "StepSettings",
    "TrainState",
    "bad_tensor_name",
    "causal_objective",
    "decayed",
    "default_precision",
    "init_state",
    "make_optimizer",
    "make_step",
]
