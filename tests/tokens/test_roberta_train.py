from __future__ import annotations

from pathlib import Path

import pytest
import transformers

import barrow.tokens
from barrow.errors import ConfigError
from barrow.tokens.train import train_roberta

TEXTS = ["low low low low lower lower", "newest newest newest widest widest", "naïve low\n\n日本"]


def test_the_ids_are_where_roberta_has_them(tmp_path: Path) -> None:
    """ROBERTA-1: `transformers` opens it as RoBERTa's, and gives the same ids."""
    made = train_roberta(TEXTS, vocab_size=290)
    assert (made.begin, made.pad, made.end, made.mask) == (0, 1, 2, made.vocab_size - 1)
    made.save(tmp_path)
    opened = barrow.tokens.load(tmp_path)
    assert opened.hash == made.hash
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in (*TEXTS, "<s> is plain text", ""):
        ids = opened.encode(text).tolist()
        assert opened.decode(ids) == text
        if "<s>" not in text:
            assert theirs(text)["input_ids"] == [0, *ids, 2]
    marked = opened.encode_marked("low <mask> low").tolist()
    assert marked == theirs("low <mask> low")["input_ids"]


def test_the_merges_are_those_of_plain_training() -> None:
    made = train_roberta(TEXTS, vocab_size=290)
    plain = barrow.tokens.train(TEXTS, vocab_size=286, specials=["<|endoftext|>"])
    for text in TEXTS:
        assert [token - 4 for token in made.encode(text)] == plain.encode(text).tolist()


def test_bad_input() -> None:
    with pytest.raises(ConfigError, match="must be ≥ 261 .*, got 260"):
        train_roberta(TEXTS, vocab_size=260)
