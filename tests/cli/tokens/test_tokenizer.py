from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document
from barrow.tokens import load


@pytest.fixture
def corpus(write: Callable[..., Path]) -> Path:
    texts = {"A": "the barrow carries stones", "B": "def f(x): return x"}
    documents = [
        Document(f"{text} {number}", {"pile_set_name": name})
        for number in range(200)
        for name, text in texts.items()
    ]
    return write(documents, "corpus")


def test_train_and_show(barrow: Callable, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "t"
    options = ("--special", "<doc>", "--special", "<|pad|>", "--sample-bytes", 2000)
    code, told, err = barrow(
        *("tokens", "train", corpus, "--vocab", 280, "--out", out, *options),
        *("--weights", "A=3", "--weights", "B=1"),
    )
    assert (code, err) == (0, "")
    assert "A: 1,497 bytes, 75.2% of the sample, 26.3% of the domain\nB: 495" in told
    assert "of the sample" in told
    tokenizer = load(out)
    assert f"{out} written: 280 ids, hash {tokenizer.hash}" in told
    assert dict(tokenizer.specials) == {"<doc>": 278, "<|pad|>": 279}
    assert tokenizer.begin == 278
    code, told, err = barrow("tokens", "show", out, "--text", "the\nbarrow <doc>é")
    assert (code, err) == (0, "")
    for words in ("vocab_size 280", "specials   <doc> 278, <|pad|> 279", "begin      278"):
        assert words in told
    assert "end        none" in told
    assert f"hash       {tokenizer.hash}" in told
    assert "bytes per token" in told
    assert told.splitlines()[-1].replace("|", "").startswith("the\\nbarrow <doc>")


def test_json(barrow: Callable, corpus: Path, tmp_path: Path) -> None:
    hashes = []
    for name in "ab":
        arguments = ("tokens", "train", corpus, "--vocab", 270, "--out", tmp_path / name)
        code, told, _ = barrow(*arguments, "--json")
        assert code == 0
        card = json.loads(told)
        assert card["vocab_size"] == 270
        assert card["specials"] == {"<|endoftext|>": 269}
        assert set(card["sample"]["bytes"]) == {"A", "B"}
        hashes.append(card["hash"])
    assert hashes[0] == hashes[1]
    code, told, _ = barrow("tokens", "show", "bytes", "--text", "hé", "--json")
    card = json.loads(told)
    assert card["ids"] == list("hé".encode())
    assert (card["bytes_per_token"], card["encoder"], card["end"]) == (1.0, "barrow", None)


def test_a_sample_too_small_for_the_vocabulary_is_said(
    barrow: Callable, corpus: Path, tmp_path: Path
) -> None:
    code, _, err = barrow(
        "tokens", "train", corpus, "--vocab", 5000, "--out", tmp_path / "t", "--seed", 3
    )
    assert code == 0
    assert "ids instead of 5,000: no other pair occurs twice" in err


def test_errors(barrow: Callable, corpus: Path, tmp_path: Path, write: Callable[..., Path]) -> None:
    out = tmp_path / "t"

    def fails(*arguments: object, source: Path = corpus, vocab: int = 300) -> tuple[int, str]:
        code, told, err = barrow(
            "tokens", "train", source, "--vocab", vocab, "--out", out, *arguments
        )
        assert told == ""
        assert err.count("\n") == 1
        return code, err

    assert fails("--weights", "C=1")[0] == 1
    assert "no domain 'C'" in fails("--weights", "C=1")[1]
    code, err = fails("--weights", "A")
    assert (code, "--weights must be DOMAIN=WEIGHT, got 'A'" in err) == (2, True)
    assert "DOMAIN=WEIGHT, got 'A=x'" in fails("--weights", "A=x")[1]
    code, err = fails(vocab=200)
    assert (code, "must be ≥ 257" in err) == (1, True)
    assert "no pattern 'gpt5'; did you mean 'gpt2'" in fails("--pattern", "gpt5")[1]
    code, err = fails(source=write([], "empty.jsonl.zst"))
    assert (code, "the corpus has no text to train on" in err) == (1, True)
    assert not out.exists()
    code, _, err = barrow("tokens", "show", tmp_path / "gone")
    assert (code, "gone does not exist; pass a file" in err) == (1, True)


def test_tokens_whose_bytes_are_not_known_are_shown(barrow: Callable, tmp_path: Path) -> None:
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "mound": 1}, "unk_token": "[UNK]"}
    data = {"version": "1.0", "model": model, "pre_tokenizer": {"type": "Whitespace"}}
    file = tmp_path / "words.json"
    file.write_text(json.dumps(data | {"added_tokens": []}))
    code, told, err = barrow("tokens", "show", file, "--text", "mound hill")
    assert (code, err) == (0, "")
    assert told.splitlines()[-1] == "mound|[UNK]"


def test_training_of_clips_kind(shard: Path, barrow: Callable, tmp_path: Path) -> None:
    """CLIP-3: lower case, ends of words, start and end; what is written opens again."""
    from barrow.tokens.clip.tokenizer import ClipTokenizer

    out = tmp_path / "bpe"
    words = ("tokens", "train", shard, "--clip", "--vocab", 540, "--out", out)
    code, printed, _ = barrow(*words, "--json")
    assert code == 0
    told = json.loads(printed)
    loaded = ClipTokenizer.load(out)
    assert (told["vocab_size"], told["hash"]) == (loaded.vocab_size, loaded.hash)
    assert told["end"] == loaded.end == loaded.vocab_size - 1
    assert loaded.encode("BARROW") == loaded.encode("barrow")
    code, _, err = barrow(*words, "--special", "<x>")
    assert code == 2
    assert "--clip has its own pattern and special tokens" in err
