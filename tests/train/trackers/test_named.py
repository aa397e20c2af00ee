"""Trackers of other projects, each read back by its own project's reader (ACCELERATE-14)."""

from __future__ import annotations

import struct
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from barrow.errors import ConfigError, MissingExtra
from barrow.train.trackers import NAMES, make_tracker
from barrow.train.trackers.named import Guarded
from barrow.train.trackers.tracker import Values

if TYPE_CHECKING:  # they take seconds: what only collects the tests need not wait
    from wandb.proto.wandb_internal_pb2 import Record


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_installed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for loaded in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"'.\[{name}\]"):
        make_tracker(name, tmp_path)


def test_what_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="no tracker 'comet': tensorboard, wandb, mlflow, or module:Name"
    ):
        make_tracker("comet", tmp_path)


class Failing:
    """Notes its calls; fails in those that are named."""

    def __init__(self, *at: str) -> None:
        self.at = at
        self.calls: list[Any] = []

    def _called(self, name: str, *given: Any) -> None:
        self.calls.append((name, *given))
        if name in self.at:
            raise ConnectionError("the server is gone")

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        self._called("begin", run, start)

    def log(self, step: int, values: Values) -> None:
        self._called("log", step, values)

    def close(self) -> None:
        self._called("close")


def test_all_is_passed_on() -> None:
    inner = Failing()
    tracker = Guarded("Service", inner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.begin({"steps": 3}, 1)
        tracker.log(1, {"loss": 2.0})
        tracker.close()
    assert inner.calls == [("begin", {"steps": 3}, 1), ("log", 1, {"loss": 2.0}), ("close",)]


def test_one_that_cannot_begin() -> None:
    with pytest.raises(ConfigError, match="Service cannot start tracking: the server is gone"):
        Guarded("Service", Failing("begin")).begin({}, 0)


def test_one_that_fails_later() -> None:
    inner = Failing("log", "close")
    tracker = Guarded("Service", inner)
    tracker.begin({}, 0)
    with pytest.warns(UserWarning, match="Service failed at step 4 .*: the server is gone"):
        tracker.log(4, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracker.log(5, {})
    assert inner.calls[-1] == ("log", 4, {})
    with pytest.warns(UserWarning, match="Service failed at the end: the server is gone"):
        tracker.close()


def test_a_resumed_run_in_tensorboard(tmp_path: Path) -> None:
    """ACCELERATE-14, by TensorBoard's reader: repeated steps have their second value alone."""
    for start, loss in ((0, 1.5), (2, 0.25)):
        tracker = make_tracker("tensorboard", tmp_path)
        tracker.begin({"steps": 4}, start)
        for step in range(start, 4):
            tracker.log(step, {"loss": loss, "overflow": "embed/table"})
        tracker.close()
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert found.Tags()["scalars"] == ["loss"]
    points = [(point.step, point.value) for point in found.Scalars("loss")]
    assert points == [(0, 1.5), (1, 1.5), (2, 0.25), (3, 0.25)]
    assert all(point.wall_time > 1e9 for point in found.Scalars("loss"))


_BLOCK, _HEADER = 32768, 7


def records(path: Path) -> Iterator[Record]:
    """The records of such a file: LevelDB's log format, after seven bytes of W&B's."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, parts = path.read_bytes(), _HEADER, b""
    while at + _HEADER <= len(data):
        if _BLOCK - at % _BLOCK < _HEADER:  # the rest of a block that has no room for a header
            at += _BLOCK - at % _BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + _HEADER : at + _HEADER + length]
        at += _HEADER + length
        if kind in (1, 4):  # whole, or its last part
            yield Record.FromString(parts)
            parts = b""


def follow_wandb(folder: Path, start: int, loss: float) -> None:
    folder.mkdir(exist_ok=True)
    tracker = make_tracker("wandb", folder)
    tracker.begin({"steps": 10}, start)
    for step in (start, start + 1):
        tracker.log(step, {"loss": loss, "overflow": "embed/table"})
    tracker.close()


def test_a_resumed_run_in_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ACCELERATE-14, in W&B's files of a run that is not sent: both parts have one name."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    follow_wandb(tmp_path / "run", 0, 1.5)
    follow_wandb(tmp_path / "run", 2, 0.25)
    follow_wandb(tmp_path / "other", 0, 3.0)
    files = sorted(tmp_path.glob("run/wandb/offline-run-*/*.wandb"))
    assert len(files) == 2
    runs, points = [], []
    for file in files:
        for record in records(file):
            if record.HasField("run"):
                runs.append(record.run)
            if record.HasField("history"):
                items = record.history.item
                values = {i.key or "/".join(i.nested_key): i.value_json for i in items}
                assert "overflow" not in values
                points.append((record.history.step.num, float(values["loss"])))
    assert sorted(points) == [(0, 1.5), (1, 1.5), (2, 0.25), (3, 0.25)]
    assert {(run.display_name, run.run_id) for run in runs} == {("run", runs[0].run_id)}
    given = {item.key: item.value_json for item in runs[0].config.update}
    assert given["steps"] == "10"
    (other,) = tmp_path.glob("other/wandb/offline-run-*/*.wandb")
    assert runs[0].run_id not in other.name


def follow_mlflow(folder: Path, start: int, loss: float) -> None:
    tracker = make_tracker("mlflow", folder)
    tracker.begin({"model": {"width": 3}}, start)
    for step in (start, start + 1):
        tracker.log(step, {"loss": loss, "overflow": "embed/table"})
    tracker.close()


def test_a_resumed_run_in_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ACCELERATE-14: in MLflow's own store, SQLite where no server is named."""
    import mlflow

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    follow_mlflow(tmp_path / "run", 0, 1.5)
    follow_mlflow(tmp_path / "run", 2, 0.25)
    (run,) = mlflow.MlflowClient().search_runs(["0"])
    assert (run.info.run_name, run.info.status) == ("run", "FINISHED")
    assert run.data.params == {"model.width": "3"}
    assert set(run.data.metrics) == {"loss"}
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
    points = sorted((point.step, point.value) for point in history)
    assert points == [(0, 1.5), (1, 1.5), (2, 0.25), (3, 0.25)]
    follow_mlflow(tmp_path / "run", 0, 3.0)  # begun anew: another run
    assert len(mlflow.MlflowClient().search_runs(["0"])) == 2


def test_a_place_it_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "gopher://here")
    with pytest.raises(ConfigError, match="MLflow cannot start tracking: .*gopher"):
        follow_mlflow(tmp_path / "run", 0, 1.0)
