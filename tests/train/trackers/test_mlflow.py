"""Against MLflow's own store, SQLite where no server is named (ACCELERATE-14)."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest

from barrow.errors import ConfigError
from barrow.train.trackers import make_tracker


def follow(folder: Path, start: int, loss: float) -> None:
    tracker = make_tracker("mlflow", folder)
    tracker.begin({"model": {"width": 3}}, start)
    for step in (start, start + 1):
        tracker.log(step, {"loss": loss, "overflow": "embed/table"})
    tracker.close()


def test_a_run_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    follow(tmp_path / "run", 0, 1.5)
    follow(tmp_path / "run", 2, 0.25)
    (run,) = mlflow.MlflowClient().search_runs(["0"])
    assert (run.info.run_name, run.info.status) == ("run", "FINISHED")
    assert run.data.params == {"model.width": "3"}
    assert set(run.data.metrics) == {"loss"}
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
    points = sorted((point.step, point.value) for point in history)
    assert points == [(0, 1.5), (1, 1.5), (2, 0.25), (3, 0.25)]
    follow(tmp_path / "run", 0, 3.0)  # begun anew: another run
    assert len(mlflow.MlflowClient().search_runs(["0"])) == 2


def test_a_place_it_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "gopher://here")
    with pytest.raises(ConfigError, match="MLflow cannot start tracking: .*gopher"):
        follow(tmp_path / "run", 0, 1.0)
