from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jax
import pytest
from tests.train import labelled_files

from barrow.cli.finetune import log_every


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the eight, for which less is to be compiled."""
    first = jax.devices()[:1]
    monkeypatch.setattr(jax, "devices", lambda: first)


@pytest.mark.usefixtures("one_device")
def test_finetune_then_predict(
    barrow: Callable, roberta_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    """ROBERTA-3: tags by the commands alone."""
    data = labelled_files.tags(tmp_path / "data.jsonl", 24)
    run, out = tmp_path / "run", tmp_path / "said.jsonl"
    given = ["--task", "tag", "--model", roberta_folder("bare"), "--out", run, "--epochs", 1]
    code, said, told = barrow("finetune", data, *given, "--freeze", "embeddings, layers:0-1")
    assert code == 0, told
    assert "2 missing: classifier/bias, classifier/kernel; 2 unexpected: pooler/" in told
    assert "rows to learn from" in told
    assert "best: epoch 1 of 1, by entity_f1" in said
    assert f"barrow model predict DATA --model {run}" in said
    code, said, told = barrow("model", "predict", data, "--model", run, "--out", out)
    assert (code, told) == (0, f"24 rows → {out}\n")
    assert "accuracy" in said
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    words = [len(json.loads(line)["tokens"]) for line in data.read_text().splitlines()]
    assert [len(line["tags"]) for line in lines] == words
    (tmp_path / "plain.jsonl").write_text('{"tokens": ["fox"]}\n')
    code, said, told = barrow("model", "predict", tmp_path / "plain.jsonl", "--model", run)
    assert (code, told) == (0, "1 rows\n")
    assert json.loads(said)["tags"][0] in ("O", "B-ANIMAL")


@pytest.mark.usefixtures("one_device")
@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (["--freeze", "layers:7"], 1, "freeze: layers:7 is not within the model's layers 0 to 1"),
        (["--metric", "pearson"], 1, "the metric of classify must be one of accuracy"),
        (["--validation", "none.jsonl"], 1, "none.jsonl does not exist"),
        (["--validation", "1.5"], 1, "a share between 0 and 1"),
        (["--label-key", "class"], 1, "line 1: no 'class', but 'text', 'label'; see --label-key"),
        (["--max-length", "99"], 1, "max-length must be from 5 to 64"),
        (["--layer-decay", "2"], 1, "layer-decay must be > 0 and ≤ 1"),
        (["--lr-schedule", "up"], 2, "up"),
        (["--epochs", "0"], 1, "epochs must be ≥ 1, got 0"),
    ],
)
def test_wrong_settings(
    given: list[str],
    code: int,
    words: str,
    barrow: Callable,
    roberta_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    data = labelled_files.classes(tmp_path / "data.jsonl")
    usual = ["--task", "classify", "--model", roberta_folder("mlm"), "--out", tmp_path / "run"]
    found = barrow("finetune", data, *usual, *given)
    assert found.code == code
    assert words in found.err
    assert found.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("steps", "epochs"), [(3, 1), (300, 3), (99_999, 3), (5_000, 10)])
def test_at_most_twenty_lines(steps: int, epochs: int) -> None:
    """Two about the rows, the first and the last step, those between, and each epoch."""
    every = log_every(steps, epochs)
    ends = {steps * (number + 1) // epochs - 1 for number in range(epochs)}
    lines = {0, steps - 1, *ends, *range(every - 1, steps, every)}
    assert 2 + len(lines) <= 20
