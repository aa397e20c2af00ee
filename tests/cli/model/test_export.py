"""ROBERTA-7: exported graphs as models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_generate import saved
from tests.models.roberta_models import save as save_roberta

from barrow.score import read_result
from barrow.weights.safetensors_read import open_safetensors


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_roberta(tmp_path_factory.mktemp("mlm") / "model", "mlm")


def lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_exported_decoder_is_scored(barrow: Callable, tmp_path: Path) -> None:
    model, file = saved(tmp_path / "model"), tmp_path / "model.onnx"
    code, out, _ = barrow("export", model, "--to", "onnx", "--out", file)
    assert code == 0
    assert f"{file.stat().st_size:,} bytes" in out
    texts = lines(tmp_path / "texts.jsonl", [{"text": f"stone {n} " * (1 + n)} for n in range(5)])
    found = []
    for number, name in enumerate((model, file)):
        assert barrow("score", name, texts, "--out", tmp_path / str(number)).code == 0
        found.append(read_result(tmp_path / str(number)).overall.nats)
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_an_exported_encoder_fills_embeds_and_is_scored(
    barrow: Callable, encoder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "model.onnx"
    assert barrow("export", encoder, "--out", file).code == 0
    texts = lines(tmp_path / "texts.jsonl", [{"text": "Rome."}, {"text": "A cart, a stone."}])
    filled, vectors, nats = [], [], []
    for number, name in enumerate((encoder, file)):
        text = "Paris is the <mask> of <mask>."
        filled.append(json.loads(barrow("model", "fill", text, "--model", name, "--json").out))
        out = tmp_path / f"{number}.safetensors"
        assert barrow("model", "embed", texts, "--model", name, "--out", out).code == 0
        vectors.append(open_safetensors(out)["embeddings"])
        assert barrow("score", name, texts, "--out", tmp_path / str(number)).code == 0
        nats.append(read_result(tmp_path / str(number)).overall.nats)
    assert [[f["token"] for f in mask] for mask in filled[0]] == [
        [f["token"] for f in mask] for mask in filled[1]
    ]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-4)
    assert nats[0] == pytest.approx(nats[1], rel=1e-5)
    refused = barrow("model", "embed", texts, "--model", file, "--layer", 1, "--out", out)
    assert "gives the last hidden states" in refused.err


def test_an_exported_classifier_predicts(barrow: Callable, tmp_path: Path) -> None:
    model, file = save_roberta(tmp_path / "model", "classify"), tmp_path / "model.onnx"
    assert barrow("export", model, "--out", file).code == 0
    rows = lines(tmp_path / "rows.jsonl", [{"text": "Rome is good"}, {"text": "a"}])
    ours, theirs = (
        [
            json.loads(line)
            for line in barrow("model", "predict", rows, "--model", name).out.splitlines()
        ]
        for name in (model, file)
    )
    assert [row["label"] for row in ours] == [row["label"] for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one["score"] == pytest.approx(other["score"], abs=1e-4)
    refused = barrow("model", "fill", "a <mask>", "--model", file)
    assert "has no LM head" in refused.err
