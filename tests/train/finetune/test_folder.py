from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow.errors import ConfigError
from barrow.models.load import load
from barrow.train.finetune.folder import FinetuneFolder, finetuned_folder


def test_a_run_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"model": {}, "steps": 3}')
    with pytest.raises(
        ConfigError, match="a run of `barrow train`, whose model has no classification head"
    ):
        finetuned_folder(tmp_path)


def test_a_better_model_takes_the_place(
    tmp_path: Path, roberta_folder: Callable[[str], Path]
) -> None:
    folder = FinetuneFolder(tmp_path)
    (tmp_path / "run.json").write_text('{"data": {"object": "barrow.train:LabelledRows"}}')
    with pytest.raises(ConfigError, match="has no best/ yet: no epoch is complete"):
        finetuned_folder(tmp_path)
    (tmp_path / ".best.1.0123abcd.writing").mkdir()  # what a kill left
    loaded = load(roberta_folder("classify"), unstack=True)
    for epoch in (1, 2):
        told = {"epoch": epoch}
        folder.write_best(loaded.model, loaded.params, loaded.labels, told, loaded=loaded)  # type: ignore[arg-type]
        assert json.loads((folder.best / "metrics.json").read_text()) == told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "run.json"]
    assert load(finetuned_folder(tmp_path)).labels == loaded.labels
    assert finetuned_folder(folder.best) == folder.best
