from __future__ import annotations

from pathlib import Path

import pytest
from tests.goldens import golden

import barrow.tokens
from barrow.errors import ConfigError
from barrow.tokens.train import train_roberta

TEXTS = ["low low low low lower lower", "newest newest newest widest widest", "naïve low\n\n日本"]


@golden("transformers")
def by_transformers(file: Path, text: str) -> list[int]:
    import transformers

    ids: list[int] = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file))(text)[
        "input_ids"
    ]
    return ids


def test_the_ids_are_where_roberta_has_them(tmp_path: Path) -> None:
    """ROBERTA-1: `transformers` opens it as RoBERTa's, and gives the same ids."""
    made = train_roberta(TEXTS, vocab_size=290)
    assert (made.begin, made.pad, made.end, made.mask) == (0, 1, 2, made.vocab_size - 1)
    made.save(tmp_path)
    opened = barrow.tokens.load(tmp_path)
    assert opened.hash == made.hash
    file = tmp_path / "tokenizer.json"
    for text in (*TEXTS, "<s> is plain text", ""):
        ids = opened.encode(text).tolist()
        assert opened.decode(ids) == text
        if "<s>" not in text:
            assert by_transformers(file, text) == [0, *ids, 2]
    marked = opened.encode_marked("low <mask> low").tolist()
    assert marked == by_transformers(file, "low <mask> low")


def test_the_merges_are_those_of_plain_training() -> None:
    made = train_roberta(TEXTS, vocab_size=290)
    plain = barrow.tokens.train(TEXTS, vocab_size=286, specials=["<|endoftext|>"])
    for text in TEXTS:
        assert [token - 4 for token in made.encode(text)] == plain.encode(text).tolist()


def test_bad_input() -> None:
    with pytest.raises(ConfigError, match="must be ≥ 261 .*, got 260"):
        train_roberta(TEXTS, vocab_size=260)
