from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import GPT2Tokenizer, RobertaTokenizer

import barrow.tokens
from barrow.errors import NotFound, TokenizerError
from barrow.tokens import JsonTokenizer
from barrow.tokens.byte_alphabet import LETTERS
from barrow.tokens.formats.merges_files import read_merges_files
from barrow.tokens.tokenizer_json import check


def write(folder: Path, trained: JsonTokenizer, *, roberta: bool = False) -> Path:
    """The trained vocabulary as GPT-2's two files, or as RoBERTa's with its own special tokens."""
    model = json.loads(trained._file.text())["model"]
    tokens = list(model["vocab"])
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *tokens, "<|endoftext|>", "<mask>"]
    if not roberta:
        tokens = tokens[4:-1]
    vocab = {token: number for number, token in enumerate(tokens)}
    lines = ["#version: 0.2", *(" ".join(merge) for merge in model["merges"]), ""]
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_gpt2s_files_are_the_same_tokenizer(
    trained: JsonTokenizer, tmp_path: Path, strange: list[str]
) -> None:
    folder = write(tmp_path / "gpt2", trained)
    reference = GPT2Tokenizer.from_pretrained(folder)
    for path in (folder, folder / "vocab.json", folder / "merges.txt"):
        loaded = barrow.tokens.load(path)
        assert loaded.hash == trained.hash
        assert (loaded.begin, loaded.end) == (trained.begin, None)
    for text in strange:
        expected = reference.encode(text, add_special_tokens=False, split_special_tokens=True)
        assert loaded.encode(text).tolist() == expected, text[:50]


def test_openais_names(trained: JsonTokenizer, tmp_path: Path) -> None:
    folder = write(tmp_path / "gpt2", trained)
    (folder / "vocab.json").rename(folder / "encoder.json")
    (folder / "merges.txt").rename(folder / "vocab.bpe")
    assert barrow.tokens.load(folder).hash == trained.hash
    assert barrow.tokens.load(folder / "vocab.bpe").hash == trained.hash


def test_robertas_files(trained: JsonTokenizer, tmp_path: Path, strange: list[str]) -> None:
    folder = write(tmp_path / "roberta", trained, roberta=True)
    loaded = barrow.tokens.load(folder)
    last = loaded.vocab_size - 1
    # In RoBERTa's vocabulary <|endoftext|> is a leftover, not a special token.
    assert dict(loaded.specials) == {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": last}
    assert (loaded.begin, loaded.end, loaded.pad, loaded.mask) == (0, 2, 1, last)
    reference = RobertaTokenizer.from_pretrained(folder)
    for text in strange:
        expected = reference.encode(text, add_special_tokens=False, split_special_tokens=True)
        assert loaded.encode(text).tolist() == expected, text[:50]
        assert loaded.decode(loaded.encode(text)) == text


def test_half_of_it_is_missing(trained: JsonTokenizer, tmp_path: Path) -> None:
    folder = write(tmp_path / "gpt2", trained)
    (folder / "merges.txt").unlink()
    with pytest.raises(NotFound, match="merges.txt does not exist; vocab.json alone is half"):
        barrow.tokens.load(folder)


BYTES = {letter: number for number, letter in enumerate(LETTERS)}


@pytest.mark.parametrize(
    ("vocab", "merges", "words"),
    [
        ({**BYTES, "ab": 256}, "a c", "merge 0 .* names 'ac', which the vocabulary does not have"),
        ({**BYTES, "ab": 257}, "a b", "has a gap: its ids go up to 257, and 256 has no"),
        ({**BYTES, "ab": 7}, "a b", "id 7 is given twice"),
        ({**BYTES, "ab": 256}, "a b\nab", "line 2 of the merges must be two tokens, got 'ab'"),
        ({**BYTES, "ab": 256}, "a  b", "line 1 of the merges must be two tokens"),
        ({**BYTES, "日": 256}, "a b", "'日' is not in the byte alphabet"),
        ({"a": "b"}, "", "a JSON object of token to id"),
        ([], "", "a JSON object of token to id"),
    ],
)
def test_bad_files(vocab: object, merges: str, words: str) -> None:
    with pytest.raises(TokenizerError, match=words):
        check(read_merges_files(json.dumps(vocab).encode(), merges.encode(), "x"), "x")


def test_no_json() -> None:
    with pytest.raises(TokenizerError, match="x: the vocabulary is not JSON"):
        read_merges_files(b"{", b"", "x")


def test_robertas_mask_takes_the_space_before_it(trained: JsonTokenizer, tmp_path: Path) -> None:
    """As in transformers, where "the <mask>" stands for "the word"."""
    tokenizer = barrow.tokens.load(write(tmp_path / "roberta", trained, roberta=True))
    assert tokenizer.mask is not None
    with_space, without = (tokenizer.encode_marked(f"a{gap}<mask>") for gap in (" ", ""))
    assert with_space.tolist() == without.tolist()
    assert tokenizer.mask in with_space
