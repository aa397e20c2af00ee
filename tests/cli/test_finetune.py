from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.train import labelled_files

from barrow.train.finetune.settings import log_every


@pytest.mark.usefixtures("one_device")
def test_finetune_then_predict(
    barrow: Callable, roberta_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    """ROBERTA-3: tags by the commands alone."""
    data = labelled_files.tags(tmp_path / "data.jsonl", 24)
    run, out = tmp_path / "run", tmp_path / "said.jsonl"
    given = ["--task", "tag", "--model", roberta_folder("bare"), "--out", run, "data.epochs=1"]
    frozen = "objective.freeze=embeddings, layers:0-1"
    code, said, told = barrow("finetune", "--train", data, *given, frozen)
    assert code == 0, told
    assert "2 missing: classifier/bias, classifier/kernel; 2 unexpected: pooler/" in told
    assert " training rows\n" in told
    assert " validation rows\n" in told
    assert json.loads((run / "run.json").read_text())["objective"]["freeze"] == [
        "embeddings",
        "layers:0-1",
    ]
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
        ("objective.freeze=layers:7", 1, "freeze: layers:7 is not within the model's layers 0 to"),
        ("objective.metric=pearson", 1, "the metric of classify must be one of accuracy"),
        ("--validation=none.jsonl", 1, "none.jsonl does not exist"),
        ("--validation=1.5", 1, "a share between 0 and 1"),
        ("data.keys.label=class", 1, "line 1: no 'class', but 'text', 'label'; name the key"),
        ("data.limit.max_length=99", 1, "max_length must be from 5 to 64"),
        ("objective.layer_decay=2", 1, "layer_decay must be > 0 and ≤ 1"),
        ("data.epochs=0", 1, "epochs must be ≥ 1, got 0"),
        ("data.epochs=two", 1, "data.epochs: expected int, got 'two'"),
        ("data.epoch=2", 1, "data.epoch: no setting 'epoch'; did you mean 'epochs'?"),
        ("steps=9", 1, "steps: no setting 'steps'; did you mean 'step'?"),
        ("data.path=x", 2, "data.path is an option now: pass --train x"),
        ("optimizer.schedule=outside:Up", 1, "--trust outside"),
        ("--lr=1", 2, "No such option: --lr"),
    ],
)
def test_wrong_settings(
    given: str,
    code: int,
    words: str,
    barrow: Callable,
    roberta_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    data = labelled_files.classes(tmp_path / "data.jsonl")
    usual = ["--task", "classify", "--model", roberta_folder("mlm"), "--out", tmp_path / "run"]
    found = barrow("finetune", "--train", data, *usual, given)
    assert found.code == code
    assert words in found.err
    assert found.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_shows_every_key(barrow: Callable) -> None:
    """What `train --show` does, without rows or a model; each key can be set."""
    changed = ["optimizer.schedule=barrow.train:Cosine", "data.keys.text=words"]
    code, said, _ = barrow("finetune", "--task", "tag", "--show", *changed)
    assert code == 0
    rows = [line.split() for line in said.splitlines() if not line.startswith(" ")]
    keys = {row[0]: row[1] for row in rows if len(row) > 1}
    assert keys["optimizer.schedule"] == "Cosine"
    assert (keys["data.keys.text"], keys["data.keys.label"]) == ('"words"', '"tags"')
    assert not {"data.path", "data.kind", "data.validation"} & set(keys)
    assert "data.epochs" in keys
    assert "times that all rows are trained on" in said


@pytest.mark.parametrize(("steps", "epochs"), [(3, 1), (300, 3), (99_999, 3), (5_000, 10)])
def test_at_most_twenty_lines(steps: int, epochs: int) -> None:
    """Two about the rows, the first and the last step, those between, and each epoch."""
    every = log_every(steps, epochs)
    ends = {steps * (number + 1) // epochs - 1 for number in range(epochs)}
    lines = {0, steps - 1, *ends, *range(every - 1, steps, every)}
    assert 2 + len(lines) <= 20
