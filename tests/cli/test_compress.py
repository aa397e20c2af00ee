from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_generate import saved

from barrow.engine import Engine
from barrow.tokens import load, tokenize


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    lines = [
        {"text": f"{d} {n} " * 3, "meta": {"pile_set_name": d}} for n in range(4) for d in "AB"
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_model_is_compressed_and_used(
    barrow: Callable, tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barrow.compress.card._SECONDS", 0.0)
    model, out = saved(tmp_path / "model"), tmp_path / "small"
    few = ("--rows", 2, "--length", 16, "--calibrate", corpus)
    code, text, _ = barrow("compress", model, "--to", "int8", *few, "--out", out)
    assert code == 0
    assert "after − before" in text
    assert "tokens a second" in text
    assert (out / "card.json").is_file()
    assert barrow("generate", out, "--prompt", "ab", "--max-tokens", 3).code == 0
    code, text, _ = barrow("score", out, corpus, "--out", tmp_path / "scores")
    assert code == 0
    again = barrow("compress", out, *few, "--out", tmp_path / "twice")
    assert again.code == 1
    assert "is quantized already" in again.err


def test_json_is_the_card(barrow: Callable, tmp_path: Path, corpus: Path) -> None:
    model = saved(tmp_path / "model")
    code, text, _ = barrow(
        *("compress", model, "--to", "int4", "--method", "nearest", "--group", 8, "--no-speed"),
        *("--calibrate", corpus, "--out", tmp_path / "small", "--json"),
    )
    assert code == 0
    card = json.loads(text)
    assert card == json.loads((tmp_path / "small" / "card.json").read_text())
    assert [row["name"] for row in card["comparison"]["domains"]] == ["A", "B"]


def test_a_bad_scheme_is_one_line(barrow: Callable, tmp_path: Path, corpus: Path) -> None:
    model = saved(tmp_path / "model")
    found = barrow(
        *("compress", model, "--to", "int4", "--dynamic", "--calibrate", corpus),
        *("--out", tmp_path / "small"),
    )
    assert found.code == 1
    assert found.err == "barrow: dynamic activations need int8 weights, got int4\n"


def test_options_that_do_not_belong_together(barrow: Callable, tmp_path: Path) -> None:
    few = ("compress", saved(tmp_path / "model"), "--out", tmp_path / "small")
    for given, why in {
        ("--recover", "s"): "--recover trains what --prune left",
        ("--store", "s"): "--store is for --distill",
        ("--prune", "heads=0.5", "--budget", "max-domain-dbpb=1"): "pass one of --prune",
        ("--to", "int8"): "pass --calibrate CORPUS",
        ("--calibrate", "c", "a=1"): "KEY=VALUE is for --distill and --recover, got a=1",
    }.items():
        found = barrow(*few, *given)
        assert found.code == 2
        assert why in " ".join(found.err.split())
    assert not (tmp_path / "small").exists()


def test_a_store_knows_its_corpus(barrow: Callable, tmp_path: Path, corpus: Path) -> None:
    model, store = saved(tmp_path / "model"), tmp_path / "store"
    tokenize(corpus, tokenizer=load("bytes"), out=store, engine=Engine("local", 0))
    few = ("--rows", 2, "--length", 16, "--no-speed", "--steps", 1)
    given = ("--prune", "channels=0.5", "--recover", store, *few, "data.batch=8", "data.seq_len=8")
    code, _, err = barrow("compress", model, *given, "--out", tmp_path / "small")
    assert code == 0, err
    card = json.loads((tmp_path / "small" / "card.json").read_text())
    assert [row["name"] for row in card["comparison"]["domains"]] == ["A", "B"]
    corpus.unlink()
    found = barrow("compress", model, *given, "--out", tmp_path / "again")
    assert found.code == 2
    assert "pass --calibrate CORPUS" in found.err
