"""Against W&B's files of a run that is not sent (ACCELERATE-14)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from wandb.proto.wandb_internal_pb2 import Record

from barrow.train.trackers import make_tracker

_BLOCK, _HEADER = 32768, 7


def records(path: Path) -> Iterator[Record]:
    """The records of such a file: LevelDB's log format, after seven bytes of W&B's."""
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


def follow(folder: Path, start: int, loss: float) -> None:
    folder.mkdir(exist_ok=True)
    tracker = make_tracker("wandb", folder)
    tracker.begin({"steps": 10}, start)
    for step in (start, start + 1):
        tracker.log(step, {"loss": loss, "overflow": "embed/table"})
    tracker.close()


def test_a_run_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parts have one name; another folder has another."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    follow(tmp_path / "run", 0, 1.5)
    follow(tmp_path / "run", 2, 0.25)
    follow(tmp_path / "other", 0, 3.0)
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
