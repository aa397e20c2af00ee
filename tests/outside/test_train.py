"""An optimizer, an objective and a tracker that barrow does not know, and models of one's own."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.train.conftest import make_store

from barrow import config
from barrow.checkpoint import Checkpoints
from barrow.cli.main import run
from barrow.errors import ConfigError
from barrow.models import DecoderConfig
from barrow.stream import StreamSettings
from barrow.train import CheckpointSettings, Constant, Run, fit
from barrow.train.trackers import read_log

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("outside"), seed=1)


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """What the package has, by module."""
    monkeypatch.syspath_prepend(str(HERE))
    return lambda name: importlib.import_module(f"mystuff.{name}")


@pytest.fixture
def made(store: Path, mine: Callable[[str], Any]) -> Run:
    return Run(
        model=DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=32, context=16),
        data=StreamSettings(seq_len=16, batch=8),
        steps=4,
        store=str(store),
        optimizer=mine("optimizer").SignDescent(Constant(peak=1e-3), weight_decay=0.0),
        objective=mine("objective").ZLoss(weight=0.01),
        checkpoint=CheckpointSettings(every=2),
        log_every=1,
    )


def weights(state: Any) -> bytes:
    return b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(state.params))


def test_from_python_and_resumed(made: Run, mine: Callable[[str], Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = fit(made, out, trackers=[mine("tracker").Csv(out)])
    logged = read_log(out / "log.jsonl")
    assert all(line["z"] > 0 for line in logged)
    told = (out / "losses.csv").read_text().splitlines()
    assert told == [f"{line['step']},{line['loss']}" for line in logged]
    # The saved run names them; without trust they are not imported.
    saved = (out / "run.json").read_text()
    assert json.loads(saved)["optimizer"]["object"] == "mystuff.optimizer:SignDescent"
    with pytest.raises(ConfigError, match="pass --trust mystuff"):
        config.from_json(Run, saved)
    assert config.from_json(Run, saved, trust=["mystuff"]) == made
    Checkpoints(out / "checkpoints").discard_after(2)
    assert weights(fit(made, out)) == weights(whole)


def test_the_optimizer_and_the_objective_are_used(
    made: Run, mine: Callable[[str], Any], tmp_path: Path
) -> None:
    """One step of signs: every parameter has moved by the rate; the objective's weight counts."""
    made = replace(made, steps=1)
    state = fit(made, tmp_path / "a")
    start = fit(
        replace(made, optimizer=replace(made.optimizer, schedule=Constant(peak=0.0))),
        tmp_path / "b",
    )
    moved = np.abs(
        state.params["layers"]["mlp"]["up"]["kernel"]
        - start.params["layers"]["mlp"]["up"]["kernel"]
    )
    np.testing.assert_allclose(moved, 1e-3, rtol=1e-3)
    plain = fit(replace(made, objective=mine("objective").ZLoss(weight=0.0)), tmp_path / "c")
    del plain
    first = {name: read_log(tmp_path / name / "log.jsonl")[0] for name in "ac"}
    assert first["a"]["loss"] == pytest.approx(
        first["c"]["loss"] + 0.01 * first["c"]["z"], rel=1e-5
    )


def test_from_the_command_line(
    store: Path, mine: Callable[[str], Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = [
        "train",
        "gpt2.tiny",
        "--store",
        str(store),
        "--out",
        str(out),
        "steps=4",
        "unroll=false",
    ]
    arguments += ["model.width=16", "model.heads=2", "model.hidden=32", "model.layers=1"]
    arguments += ["data.seq_len=16", "data.batch=8", "optimizer=mystuff.optimizer:SignDescent"]
    arguments += ["optimizer.weight_decay=0.0", "objective=mystuff.objective:ZLoss"]
    arguments += ["--track", "mystuff.tracker:Csv"]
    assert run(arguments) == 1
    assert "pass --trust mystuff.optimizer" in capfd.readouterr().err
    assert run([*arguments, "--trust", "mystuff"]) == 0, capfd.readouterr().err
    assert len((out / "losses.csv").read_text().splitlines()) == 2
    assert "mystuff.objective:ZLoss" in (out / "run.json").read_text()
    # Lengthened: its schedule is constant.
    capfd.readouterr()
    assert run(["train", str(out), "steps=6"]) == 1
    assert "pass --trust mystuff" in capfd.readouterr().err
    assert run(["train", str(out), "steps=6", "--trust", "mystuff"]) == 0, capfd.readouterr().err
    assert read_log(out / "log.jsonl")[-1]["step"] == 5


def test_the_page_s_model_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In at most forty lines, blank ones left out: it learns, is evaluated, and resumes."""
    page = (HERE.parents[1] / "docs" / "train.md").read_text()
    code = re.search(r"## A model of your own.*?```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 40
    (tmp_path / "own.py").write_text(code[1])
    monkeypatch.chdir(tmp_path)
    planned = config.import_file("own.py").run
    whole = fit(planned, "build/own")
    log = read_log("build/own/log.jsonl")
    assert log[-1]["validation_loss"] < 0.1 * log[0]["loss"]
    assert log[-1]["validation_rows"] == 128
    assert "bits_per_row" not in log[-1]
    Checkpoints("build/own/checkpoints").discard_after(100)
    assert run(["train", "build/own"]) == 1
    assert "pass --trust own.py" in capfd.readouterr().err
    assert run(["train", "build/own", "--trust", "own.py"]) == 0, capfd.readouterr().err
    assert "validation loss: " in capfd.readouterr().out
    assert weights(fit(planned, "build/own")) == weights(whole)
