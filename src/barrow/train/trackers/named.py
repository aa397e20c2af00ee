"""Trackers of other projects, by name."""

from __future__ import annotations

from pathlib import Path

from barrow.train.trackers.guarded import Guarded
from barrow.train.trackers.mlflow import MLflow
from barrow.train.trackers.tensorboard import TensorBoard
from barrow.train.trackers.tracker import Tracker
from barrow.train.trackers.wandb import Wandb

NAMES = ("tensorboard", "wandb", "mlflow")


def make_tracker(name: str, folder: Path) -> Tracker:
    """The tracker of a name, for the run in a folder; failures of its own do not stop the run."""
    if name == "tensorboard":
        return Guarded("TensorBoard", TensorBoard(folder / "tensorboard"))
    if name == "wandb":
        return Guarded("Weights & Biases", Wandb(folder))
    if name == "mlflow":
        return Guarded("MLflow", MLflow(folder))
    raise ValueError(f"no tracker {name!r}: {', '.join(NAMES)}")
