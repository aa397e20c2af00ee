"""Metrics to MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow.errors import MissingExtra
from barrow.files import make_folder
from barrow.train.trackers.tracker import Values, flat, numbers

_NAME = "mlflow_run"


class MLflow:
    """A run of MLflow; its id is kept in the run's folder, so that a resumed run is the same.

    Where it is stored is set for MLflow (MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME).
    """

    def __init__(self, folder: Path) -> None:
        try:
            import mlflow
        except ImportError:
            raise MissingExtra("mlflow", "mlflow", "tracking by MLflow") from None
        self._mlflow = mlflow
        self._folder = folder

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Start or resume; MLflow shows both values of a repeated step."""
        file = self._folder / _NAME
        known = file.read_text() if start and file.is_file() else None
        active = self._mlflow.start_run(run_id=known, run_name=self._folder.resolve().name)
        if known is None:
            make_folder(self._folder)
            file.write_text(active.info.run_id)
            self._mlflow.log_params({key: str(value) for key, value in flat(run).items()})

    def log(self, step: int, values: Values) -> None:
        """Send numbers."""
        self._mlflow.log_metrics(numbers(values), step=step)

    def close(self) -> None:
        """End the run."""
        self._mlflow.end_run()
