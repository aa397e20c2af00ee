from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from barrow import Document
from barrow.models.roberta.embedding_file import read_ids

TEXTS = ["Paris is the capital", "", "naïve 🙂", "of France."]


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    class Stdin:
        buffer = io.BytesIO(data)

    monkeypatch.setattr(sys, "stdin", Stdin())


def test_every_kind_of_input_gives_the_same_vectors(
    barrow: Callable,
    roberta_folder: Callable[[str], Path],
    tmp_path: Path,
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ROBERTA-2: lines, jsonl and archives; from files and from stdin."""
    model = roberta_folder("mlm")
    lines = "".join(f"{text}\n" for text in TEXTS).encode()
    records = "".join(json.dumps({"text": t, "id": f"x{i}"}) + "\n" for i, t in enumerate(TEXTS))
    (tmp_path / "a.txt").write_bytes(lines)
    (tmp_path / "b.jsonl").write_text(records)
    archive = write([Document(t, {"id": f"y{i}"}) for i, t in enumerate(TEXTS)])
    found: dict[str, Any] = {}

    def ask(name: str, source: object, *options: object) -> str:
        out = tmp_path / f"{name}.safetensors"
        told = ("model", "embed", source, "--model", model, "--out", out, "--layer", 1, *options)
        code, said, err = barrow(*told)
        assert (code, err) == (0, "")
        found[name] = load_file(out)
        return str(said)

    said = ask("txt", tmp_path / "a.txt")
    assert said.startswith("4 × 32 (")
    ask("jsonl", tmp_path / "b.jsonl")
    told = json.loads(ask("archive", archive, "--json"))
    assert (told["rows"], told["width"], told["truncated"]) == (4, 32, 0)
    feed(monkeypatch, lines)
    ask("stdin", "-")
    feed(monkeypatch, records.encode())
    ask("stdin jsonl", "-", "--format", "jsonl")
    for tensors in found.values():
        np.testing.assert_allclose(tensors["embeddings"], found["txt"]["embeddings"], atol=1e-5)
        assert np.array_equal(tensors["sha256"], found["txt"]["sha256"])
    assert read_ids(found["stdin"]) == ["0", "1", "2", "3"]
    assert read_ids(found["stdin jsonl"]) == ["x0", "x1", "x2", "x3"]
    assert read_ids(found["archive"]) == ["y0", "y1", "y2", "y3"]


def test_bad_input(
    barrow: Callable,
    roberta_folder: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "e.safetensors"
    common = ("--model", roberta_folder("mlm"), "--out", out)
    (tmp_path / "long.txt").write_text("a\n" + "Paris is " * 99)
    code, _, err = barrow("model", "embed", tmp_path / "long.txt", *common)
    assert code == 1
    assert "text 1: " in err
    assert "--truncate" in err
    assert not out.exists()
    code, said, _ = barrow("model", "embed", tmp_path / "long.txt", *common, "--truncate")
    assert code == 0
    assert "1 truncated" in said
    code, _, err = barrow("model", "embed", tmp_path / "long.txt", *common, "--layer", 9)
    assert code == 1
    assert "num_layers must be from 1 to 2, got 9" in err
    for data, words in (
        (b'{"text": "a"}\n{', "line 2 is not JSON"),
        (b"[1]\n", "line 1 has no text under 'text'"),
    ):
        feed(monkeypatch, data)
        code, _, err = barrow("model", "embed", "-", *common, "--format", "jsonl")
        assert code == 1
        assert words in err
    feed(monkeypatch, b"a\n\xff\n")
    code, _, err = barrow("model", "embed", "-", *common)
    assert code == 1
    assert "line 2 is not UTF-8" in err


def test_the_help_names_the_batch_that_is_used(barrow: Callable) -> None:
    from barrow.models.roberta import encode

    words = f"{encode._ON_CPU} on a CPU, else {encode._ELSEWHERE}"
    assert words in " ".join(barrow("model", "embed", "--help").out.replace("│", " ").split())
