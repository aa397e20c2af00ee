"""Training: one step, the loop around it, and what it leaves behind."""

from __future__ import annotations

from barrow.train.causal import causal_objective
from barrow.train.fit import fit
from barrow.train.for_store import for_store
from barrow.train.interrupt import Interrupted
from barrow.train.loss_scale import LossScale, ScaleSettings
from barrow.train.objective import Loss, Mean, Objective
from barrow.train.optimizers import Adafactor, AdamW, Lion, Muon, Optimizer, decayed
from barrow.train.placement import Placement
from barrow.train.precision import Precision, default_precision
from barrow.train.run import CheckpointSettings, EvaluationSettings, MeshSettings, Run
from barrow.train.schedules import Constant, Cosine, Linear, Schedule, WarmupStableDecay
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
    "Adafactor",
    "AdamW",
    "CheckpointSettings",
    "Constant",
    "Cosine",
    "EvaluationSettings",
    "Interrupted",
    "Linear",
    "Lion",
    "Loss",
    "LossScale",
    "Mean",
    "MeshSettings",
    "Muon",
    "Objective",
    "Optimizer",
    "Placement",
    "Precision",
    "Run",
    "ScaleSettings",
    "Schedule",
    "Step",
    "StepMetrics",
    "StepSettings",
    "TrainState",
    "WarmupStableDecay",
    "bad_tensor_name",
    "causal_objective",
    "decayed",
    "default_precision",
    "fit",
    "for_store",
    "init_state",
    "make_step",
]
