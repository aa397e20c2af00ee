"""Trackers of other projects, against stand-ins that have the calls which are used."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from barrow.errors import MissingExtra
from barrow.train.trackers import NAMES, make_tracker

VALUES = {"loss": 1.5, "overflow": "embed/table"}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_installed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=rf"barrow\[{name}\]"):
        make_tracker(name, tmp_path)


def test_what_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tracker 'comet': tensorboard, wandb, mlflow"):
        make_tracker("comet", tmp_path)


def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[str, Any]] = []
    logged: list[Any] = []
    module = ModuleType("wandb")

    def init(**settings: Any) -> Any:
        begun.append(settings)
        return SimpleNamespace(
            log=lambda values, *, step: logged.append((step, values)),
            finish=lambda: logged.append("finish"),
        )

    module.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    for start in (0, 5):
        tracker = make_tracker("wandb", tmp_path / "run")
        tracker.begin({"steps": 10}, start)
        tracker.log(start, VALUES)
        tracker.close()
    assert begun[0]["id"] == begun[1]["id"]
    assert (begun[0]["name"], begun[0]["config"], begun[0]["resume"]) == (
        "run",
        {"steps": 10},
        "allow",
    )
    assert logged == [(0, {"loss": 1.5}), "finish", (5, {"loss": 1.5}), "finish"]
    other = make_tracker("wandb", tmp_path / "other")
    other.begin({}, 0)
    assert begun[2]["id"] != begun[0]["id"]


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    module = ModuleType("mlflow")

    def start_run(*, run_id: str | None, run_name: str) -> Any:
        calls.append((run_id, run_name))
        return SimpleNamespace(info=SimpleNamespace(run_id=run_id or f"new{len(calls)}"))

    module.start_run = start_run  # type: ignore[attr-defined]
    module.log_params = calls.append  # type: ignore[attr-defined]
    module.log_metrics = lambda values, *, step: calls.append((step, values))  # type: ignore[attr-defined]
    module.end_run = lambda: calls.append("end")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", module)
    for start in (0, 5, 0):
        tracker = make_tracker("mlflow", tmp_path / "run")
        tracker.begin({"model": {"width": 3}}, start)
        tracker.log(start, VALUES)
        tracker.close()
    first = [(None, "run"), {"model.width": "3"}, (0, {"loss": 1.5}), "end"]
    assert calls == [*first, ("new1", "run"), (5, {"loss": 1.5}), "end", *first]


def test_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []

    class Writer:
        def __init__(self, folder: str) -> None:
            events.append(folder)

        def add_event(self, event: Any) -> None:
            events.append(event)

        def close(self) -> None:
            events.append("close")

    def session(**fields: Any) -> Any:
        return SimpleNamespace(**fields)

    session.START = 1  # type: ignore[attr-defined]

    def summary(**fields: Any) -> Any:
        return SimpleNamespace(**fields)

    summary.Value = lambda tag, simple_value: (tag, simple_value)  # type: ignore[attr-defined]
    proto = ModuleType("tensorboard.compat.proto")
    proto.event_pb2 = SimpleNamespace(Event=SimpleNamespace, SessionLog=session)  # type: ignore[attr-defined]
    proto.summary_pb2 = SimpleNamespace(Summary=summary)  # type: ignore[attr-defined]
    writer = ModuleType("tensorboard.summary.writer.event_file_writer")
    writer.EventFileWriter = Writer  # type: ignore[attr-defined]
    for module in (proto, writer):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("", ".compat", ".summary", ".summary.writer"):
        parent = ModuleType(f"tensorboard{name}")
        parent.__path__ = []  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, parent.__name__, parent)
    tracker = make_tracker("tensorboard", tmp_path)
    tracker.begin({}, 5)
    tracker.log(6, VALUES)
    tracker.close()
    folder, start, point, close = events
    assert folder == str(tmp_path / "tensorboard")
    assert (start.step, start.session_log.status) == (5, 1)
    assert (point.step, point.summary.value) == (6, [("loss", 1.5)])
    assert point.wall_time > 1e9
    assert close == "close"
