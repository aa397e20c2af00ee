"""Trackers of other projects, by name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from barrow.objects import resolve
from barrow.train.trackers.guarded import Guarded
from barrow.train.trackers.mlflow import MLflow
from barrow.train.trackers.tensorboard import TensorBoard
from barrow.train.trackers.tracker import Tracker
from barrow.train.trackers.wandb import Wandb

NAMES = ("tensorboard", "wandb", "mlflow")


def make_tracker(name: str, folder: Path, *, trust: Collection[str] = ()) -> Tracker:
    """The tracker of a name, for the run in a folder; its failures do not stop the run.

    One of your own is ``module:Name``, a dataclass or a function that is called with the folder;
    its module is imported only if it is in `trust`.
    """
    if ":" in name:
        return Guarded(name, resolve(name, trust=trust)(folder))
    if name == "tensorboard":
        return Guarded("TensorBoard", TensorBoard(folder / "tensorboard"))
    if name == "wandb":
        return Guarded("Weights & Biases", Wandb(folder))
    if name == "mlflow":
        return Guarded("MLflow", MLflow(folder))
    raise ValueError(f"no tracker {name!r}: {', '.join(NAMES)}, or module:Name")
