from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document
from barrow.stream import Mixture, Phase, Schedule, Stream


@pytest.fixture
def store(barrow: Callable, write: Callable, tmp_path: Path) -> Path:
    documents = [
        Document("stone " * (n % 9), {"pile_set_name": "AB"[n % 2], "id": f"{n + 1:016x}-{n:08x}"})
        for n in range(40)
    ]
    out = tmp_path / "store"
    code, _, err = barrow(
        "tokenize", write(documents), "--tokenizer", "bytes", "--out", out, "--workers", 0
    )
    assert code == 0, err
    return out


def test_plan_and_save(barrow: Callable, store: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    settings = ["seq_len=16", "batch=4", "seed=3", 'epochs={"A":2,"B":1}']
    code, out, err = barrow("tokens", "stream", store, *settings, "--out", run)
    assert (code, err) == (0, "")
    stream = Stream.load(run)
    assert stream.settings.schedule.phases[0].mixture == Mixture(epochs={"A": 2.0, "B": 1.0})
    assert f"the stream has {stream.num_steps:,} steps" in out
    assert "2.000" in out
    code, out, _ = barrow("tokens", "stream", store, *settings, "--json", "--step", 5)
    plan = json.loads(out)
    assert (plan["num_steps"], plan["step"]) == (stream.num_steps, 5)
    for row in plan["domains"]:
        assert row["rows"] == stream.order.progress(5)[row["domain"]].rows
        assert 0 < row["steps_per_epoch"] <= stream.num_steps
    assert sum(row["share"] for row in plan["domains"]) == pytest.approx(1)


def test_without_end(barrow: Callable, store: Path) -> None:
    code, out, _ = barrow("tokens", "stream", store, "seq_len=16", "batch=4", 'weights={"A":1}')
    assert code == 0
    assert "has no end" in out
    assert "never" in out


def test_a_schedule(barrow: Callable, store: Path, tmp_path: Path) -> None:
    from barrow import config

    mixture = Mixture(weights={"A": 1.0})
    schedule = Schedule((Phase(0, 8, 2, mixture), Phase(5, 16, 2, mixture)))
    file = tmp_path / "schedule.json"
    file.write_text(config.to_json(schedule))
    run = tmp_path / "run.json"
    code, _, err = barrow("tokens", "stream", store, "seed=1", "--schedule", file, "--out", run)
    assert (code, err) == (0, "")
    assert Stream.load(run).settings.schedule == schedule
    code, _, err = barrow("tokens", "stream", store, "--schedule", file, "--out", run)
    assert (code, err) == (0, "")
    assert Stream.load(run).settings.seed == 0


def test_bad_input(barrow: Callable, store: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ((store, "seq_len=16"), "pass seq_len and batch"),
        ((store, "seq_len=16", "batch=0"), "batch: expected 1 to"),
        ((store, "seq_len=16", "batch=2", 'weights={"Q":1}'), "the mixture names 'Q'"),
        ((store, "seqlen=16"), "did you mean 'seq_len'"),
        ((tmp_path, "seq_len=16", "batch=2"), "is not a token store"),
    ):
        code, _, err = barrow("tokens", "stream", *arguments)
        assert code == 1
        assert message in err
