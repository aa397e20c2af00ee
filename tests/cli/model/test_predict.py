from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow.cli.model import predict as module


def test_a_model_without_labels(
    barrow: Callable,
    roberta_folder: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`finetune` and `predict` together are tested with the former."""
    monkeypatch.setattr(module, "remember_programs", lambda: None)
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n{"text": ""}\n')
    code, _, err = barrow(
        "model", "predict", tmp_path / "x.jsonl", "--model", roberta_folder("mlm")
    )
    assert code == 1
    assert "has no classification head: train one" in err
    out = tmp_path / "out.jsonl"
    code, _, err = barrow(
        "model",
        "predict",
        tmp_path / "x.jsonl",
        "--model",
        roberta_folder("classify"),
        "--out",
        out,
    )
    assert code == 1
    assert "x.jsonl, line 2: 'text' is empty" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.jsonl"]
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n')
    code, _, err = barrow(
        "model",
        "predict",
        tmp_path / "x.jsonl",
        "--model",
        roberta_folder("classify"),
        "--out",
        tmp_path,
    )
    assert code == 2
    assert f"--out is a file, and {tmp_path} a folder" in err
    deep = tmp_path / "a" / "b.jsonl"
    code, _, _ = barrow(
        "model",
        "predict",
        tmp_path / "x.jsonl",
        "--model",
        roberta_folder("classify"),
        "--out",
        deep,
    )
    assert code == 0
    assert len(deep.read_text().splitlines()) == 1


def test_the_file_is_on_the_disk_when_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("sync"), sync(fd))[1])
    monkeypatch.setattr(Path, "replace", lambda a, b: (events.append("name"), replace(a, b))[1])
    with module._written(tmp_path / "x.jsonl") as write:
        write("ü\n")
        assert not (tmp_path / "x.jsonl").exists()
    assert events == ["sync", "name", "sync"]
    assert (tmp_path / "x.jsonl").read_text() == "ü\n"
    with pytest.raises(KeyError), module._written(tmp_path / "x.jsonl") as write:
        write("half")
        raise KeyError
    assert os.listdir(tmp_path) == ["x.jsonl"]
