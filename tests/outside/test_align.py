"""A loss of preferences that barrow does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.align.conftest import make_model
from tests.align.data_files import pairs, write

from barrow.cli.main import run
from barrow.train.trackers import read_log

HERE = Path(__file__).parent


def test_a_hinge_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    model, data = make_model(tmp_path), write(tmp_path / "pairs.jsonl", pairs(8))
    out = tmp_path / "run"
    words = ["align", "dpo", str(model), data, "--out", str(out), "--trust", "mystuff"]
    given = ["objective=mystuff.preference:Hinge", "objective.beta=0.5", "steps=2"]
    rate = "optimizer.schedule.peak=0.01"
    assert run([*words, *given, "data.length=64", "data.batch=8", "log_every=1", rate]) == 0
    first, last = (line["loss"] for line in read_log(out / "log.jsonl"))
    np.testing.assert_allclose(first, 1.0, rtol=1e-6)  # policy and reference are the same model
    assert last < first
