"""`barrow mix fit`, as typed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.mix.planted import planted_law, planted_runs

from barrow.cli.main import run
from barrow.mix.runs import table_of


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    planted = planted_runs(planted_law(3, seed=0), 12, noise=0.005, seed=0)
    columns: dict[str, list[object]] = {"run": list(planted.names), "params": [1e6] * 12}
    columns |= {f"weight:{n}": list(planted.weights[:, i]) for i, n in enumerate("abc")}
    columns |= {f"loss:{n}": list(planted.losses[:, i]) for i, n in enumerate("abc")}
    path = tmp_path / "runs.csv"
    path.write_text(table_of(columns))
    return path


def test_fit_predicts(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixtures, out = tmp_path / "mixtures.csv", tmp_path / "predicted.csv"
    mixtures.write_text("weight:a,weight:b,weight:c\n0.2,0.3,0.5\n0.6,0.4,0\n")
    assert run(["mix", "fit", str(runs), "--predict", str(mixtures), "--out", str(out)]) == 0
    assert "12 runs of 3 domains; for models of 1,000,000 parameters" in capsys.readouterr().out
    with out.open() as file:
        rows = list(csv.DictReader(file))
    true = planted_law(3, seed=0).predict(np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]))[0]
    assert len(rows) == 2
    for row, losses in zip(rows, true, strict=True):
        assert [float(row[f"loss:{name}"]) for name in "abc"] == pytest.approx(losses, abs=0.05)
        assert float(row["mean"]) == pytest.approx(losses.mean(), abs=0.03)


def test_fit_prints_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mix", "fit", str(runs), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["domains"]["a"]["transfer"]["a"][0] == 1
    assert found["domains"]["a"]["error"] < 0.02


def test_bad_usage(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mix", "fit", str(runs), "--predict", str(runs)]) == 2
    assert "give --predict MIXTURES and --out FILE together" in capsys.readouterr().err
    assert run(["mix", "fit", str(tmp_path / "none.csv")]) == 1
    assert "none.csv: no such file" in capsys.readouterr().err
