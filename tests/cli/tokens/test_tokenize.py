from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document


@pytest.fixture
def tokenized(barrow: Callable, folder: Path, tmp_path: Path) -> Path:
    out = tmp_path / "store"
    code, _, err = barrow("tokenize", folder, "--tokenizer", "bytes", "--out", out, "--workers", 0)
    assert (code, err) == (0, "")
    return out


def counted(documents: list[Document]) -> tuple[int, int]:
    sizes = [len(d.text.encode()) for d in documents]
    return sum(sizes), sum(size + 1 for size in sizes if size)


def test_table(barrow: Callable, folder: Path, tmp_path: Path, documents: list[Document]) -> None:
    args = ("--tokenizer", "bytes", "--out", tmp_path / "s", "--workers", 1)
    code, out, err = barrow("tokenize", folder, *args)
    assert (code, err) == (0, "")
    num_bytes, num_tokens = counted(documents)
    for word in ("domain", "bytes per token", "Ünïcode", f"{num_tokens:,}", f"{num_bytes:,}"):
        assert word in out
    assert f"{num_bytes / num_tokens:.3f}" in out.splitlines()[-1]


def test_json(barrow: Callable, folder: Path, tmp_path: Path, documents: list[Document]) -> None:
    args = ("--tokenizer", "bytes", "--out", tmp_path / "s", "--workers", 0, "--json")
    code, out, _ = barrow("tokenize", folder, *args)
    assert code == 0
    told = json.loads(out)
    num_bytes, num_tokens = counted(documents)
    assert (told["documents"], told["bytes"], told["tokens"]) == (1000, num_bytes, num_tokens)
    assert told["bytes_per_token"] == num_bytes / num_tokens
    assert (told["vocab_size"], told["dtype"], told["shards"]) == (259, "uint16", 3)
    assert {row["domain"] for row in told["domains"]} == {"A", "B", "Ünïcode"}
    assert sum(row["tokens"] for row in told["domains"]) == num_tokens


def test_stats_of_a_store(barrow: Callable, tokenized: Path, folder: Path) -> None:
    code, out, err = barrow("corpus", "stats", tokenized)
    assert (code, err) == (0, "")
    assert "bytes per token" in out
    code, told, _ = barrow("corpus", "stats", tokenized, "--json")
    assert json.loads(told)["documents"] == 1000
    code, _, err = barrow("corpus", "stats", tokenized, "--by", "licence")
    assert (code, "grouped by domain only" in err) == (2, True)


def test_verify_a_store(barrow: Callable, tokenized: Path) -> None:
    code, out, err = barrow("verify", tokenized)
    assert (code, err) == (0, "")
    assert out.startswith("ok: ")
    assert " files, 1,000 documents, " in out
    path = sorted(tokenized.glob("tokens-*"))[0]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    code, out, _ = barrow("verify", tokenized)
    assert code == 1
    assert f"wrong-checksum: {path.name}: expected SHA-256" in out
    assert "1 problems" in out
    code, out, _ = barrow("verify", tokenized, "--json")
    assert code == 1
    told = json.loads(out)
    assert told["ok"] is False
    assert [problem["file"] for problem in told["problems"]] == [path.name]


def test_splits_and_keys(barrow: Callable, folder: Path, tmp_path: Path) -> None:
    args = ("--tokenizer", "bytes", "--out", tmp_path / "s", "--workers", 0)
    code, _, err = barrow("tokenize", folder, *args, "--split", "test")
    assert (code, "has no split 'test'" in err) == (1, True)
    code, _, err = barrow("tokenize", folder, *args, "--split", "dev")
    assert code == 2
    path = tmp_path / "x.jsonl"
    path.write_text('{"body":"abc"}\n')
    code, out, _ = barrow("tokenize", path, *args, "--text-key", "body", "--json")
    assert json.loads(out)["tokens"] == 4


def test_errors_are_one_line(barrow: Callable, folder: Path, tmp_path: Path) -> None:
    code, _, err = barrow("tokenize", folder, "--tokenizer", "bytes", "--out", folder / "s")
    assert (code, err.count("\n")) == (1, 1)
    assert "choose a folder outside it" in err
    code, _, err = barrow(
        "tokenize", folder, "--tokenizer", tmp_path / "none", "--out", tmp_path / "s"
    )
    assert (code, err.count("\n")) == (1, 1)
    code, _, err = barrow("tokenize", folder, "--tokenizer", "bytes")
    assert code == 2
