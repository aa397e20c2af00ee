from __future__ import annotations

import json
from pathlib import Path

import pytest

import barrow.tokens
from barrow.errors import NotFound, TokenizerError
from barrow.tokens import JsonTokenizer


def test_a_file_or_its_folder(trained: JsonTokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path)
    for path in (tmp_path, str(tmp_path), tmp_path / "tokenizer.json"):
        assert barrow.tokens.load(path).hash == trained.hash
    (tmp_path / "tokenizer.json").rename(tmp_path / "mine.json")
    assert barrow.tokens.load(tmp_path / "mine.json").hash == trained.hash


def test_without_the_fast_library(trained: JsonTokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path)
    assert barrow.tokens.load(tmp_path, fast=False).encoder.startswith("tokenizers ")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("config.json", b'{"hidden_size": 8}', "config.json is not a tokenizer: it has no model"),
        ("tokenizer.json", b'{"model": {', "tokenizer.json is not JSON: "),
        ("tokenizer.json", b"[]", "is not a tokenizer that barrow knows"),
        (
            "tokenizer.model",
            b"\n\x0e\n\x05<unk>",
            "a SentencePiece .model becomes a tokenizer.json",
        ),
        ("notes.txt", b"hello", "is not a tokenizer that barrow knows: tokenizer.json, vocab.json"),
        ("empty.json", b"", "is not a tokenizer that barrow knows"),
        ("x.tiktoken", b"what is this", "line 1: expected a token in base64"),
        ("tok.bin", b"\x07", "1 bytes is too short for a llama2.c tokenizer"),
    ],
)
def test_files_that_are_none(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TokenizerError, match=words) as caught:
        barrow.tokens.load(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="gone does not exist; pass a file, a folder, or"):
        barrow.tokens.load(tmp_path / "gone")
    with pytest.raises(TokenizerError, match="must contain one tokenizer .*, found none"):
        barrow.tokens.load(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.tiktoken").write_bytes(b"")
    with pytest.raises(TokenizerError, match="found 2 of them"):
        barrow.tokens.load(tmp_path)


@pytest.mark.parametrize(("text", "words"), [("{", "is not JSON"), ("[]", "not a JSON object")])
def test_bad_settings(trained: JsonTokenizer, tmp_path: Path, text: str, words: str) -> None:
    trained.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(text)
    with pytest.raises(TokenizerError, match=f"tokenizer_config.json.* {words}"):
        barrow.tokens.load(tmp_path)


def test_what_the_reference_refuses_is_an_error_of_ours(
    trained: JsonTokenizer, tmp_path: Path
) -> None:
    data = json.loads(trained._file.text())
    data["pre_tokenizer"] = {"type": "Nonsense"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(
        TokenizerError, match="the tokenizers library cannot read it: .*PreTokenizer"
    ):
        barrow.tokens.load(tmp_path).encode("x")
