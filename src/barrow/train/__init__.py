"""Training: the step, the loop, and the run folder with log and checkpoints."""

from __future__ import annotations

from barrow.interrupt import Interrupted
from barrow.parallel.placement import Placement
from barrow.train.elastic import ElasticBatch, elastic_batch
from barrow.train.fit import fit
from barrow.train.loss_scale import LossScale, ScaleSettings
from barrow.train.objectives.causal import causal_objective
from barrow.train.objectives.objective import Loss, Mean, Objective
from barrow.train.one_bit import OneBitAdam
from barrow.train.optimizers import Adafactor, AdamW, Lion, Muon, Optimizer, decayed
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
    pure_step,
)
from barrow.train.tasks.task import for_store

__all__ = [
    "Adafactor",
    "AdamW",
    "CheckpointSettings",
    "Constant",
    "Cosine",
    "ElasticBatch",
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
    "OneBitAdam",
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
    "elastic_batch",
    "fit",
    "for_store",
    "init_state",
    "make_step",
    "pure_step",
]
