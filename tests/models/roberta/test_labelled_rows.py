from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from barrow import tokens
from barrow.models import RobertaConfig
from barrow.models.roberta.labelled_rows import Limit, pair_rows, word_rows

CONFIG = RobertaConfig(330, 32, 2, 4, 48, 66)
TEXTS = ["Paris is the capital of France.", "naïve cafés, 日本語", "stone", "Rome is the capital"]
PAIRS = [None, "A barrow is a mound raised stone by stone", "fox", "the quick brown fox"]
PLACES = [f"x.jsonl, line {i + 1}" for i in range(4)]


@pytest.fixture(scope="module")
def tokenizer(roberta_folder: Callable[[str], Path]) -> Any:
    return tokens.load(roberta_folder("mlm"))


@pytest.mark.parametrize("most", [64, 20, 13, 7, 6])
def test_pairs_as_transformers_has_them(tokenizer: Any, roberta: Any, most: int) -> None:
    """ROBERTA-3: `<s> a </s></s> b </s>`, the longer cut first."""
    theirs = roberta.tokenized
    rows = pair_rows(
        tokenizer, TEXTS, PAIRS, config=CONFIG, places=PLACES, limit=Limit(most, truncate=True)
    )
    for row, text, pair in zip(rows, TEXTS, PAIRS, strict=True):
        expected = theirs(text, pair, truncation="longest_first", max_length=most)["ids"]
        assert row.tokens.tolist() == expected
        whole = len(theirs(text, pair)["ids"])
        assert row.num_cut == max(0, whole - most)


@pytest.mark.parametrize("most", [64, 12])
def test_words_as_transformers_has_them(tokenizer: Any, roberta: Any, most: int) -> None:
    """ROBERTA-3: each word behind a space; its first piece is the one that is labelled."""
    words = [["Paris", "is", "nice", "日本語", "mound"], ["stone"], [" the", "capitals", "of"]]
    limit = Limit(most, truncate=True)
    rows = word_rows(tokenizer, words, config=CONFIG, places=PLACES[:3], limit=limit)
    for row, given in zip(rows, words, strict=True):
        expected = roberta.tokenized(given, words=True, truncation=True, max_length=most)
        assert row.tokens.tolist() == expected["ids"]
        ids = expected["words"]
        first = [ids.index(word) for word in range(len(given)) if word in ids]
        assert row.first.tolist() == first
        assert row.num_cut == len(given) - len(first)


def test_special_tokens_in_a_text_are_plain(tokenizer: Any) -> None:
    (row,) = pair_rows(tokenizer, ["</s><mask>"], [None], config=CONFIG, places=["x"])
    assert not np.isin(row.tokens[1:-1], [0, 1, 2, 329]).any()


def test_bad_input(tokenizer: Any) -> None:
    long = "stone " * 100
    with pytest.raises(ValueError, match="line 1: 103 tokens, but the model takes 64"):
        pair_rows(tokenizer, [long.strip()], [None], config=CONFIG, places=PLACES[:1])
    with pytest.raises(ValueError, match="line 1: .* tokens, but max_length is 6"):
        pair_rows(tokenizer, TEXTS[:1], [None], config=CONFIG, places=PLACES[:1], limit=Limit(6))
    with pytest.raises(ValueError, match="line 2: .* tokens, but the model takes 64"):
        word_rows(tokenizer, [["a"], ["stone"] * 90], config=CONFIG, places=PLACES[:2])
    for most in (4, 65):
        with pytest.raises(ValueError, match=f"from 5 to 64, .* got {most}"):
            Limit(most).of(CONFIG)
    small = RobertaConfig(20, 32, 2, 4, 48, 66)
    with pytest.raises(ValueError, match="line 3: the tokenizer gives id .*, but the model has 20"):
        pair_rows(tokenizer, ["a"], [None], config=small, places=PLACES[2:3])


def test_tokenizers_without_an_end() -> None:
    begun = tokens.train(["a b c"] * 3, vocab_size=257, specials=("<|endoftext|>",))
    assert begun.end is None or begun.end == begun.begin == 256
    bare = SimpleNamespace(begin=256, end=None, encode_texts=begun.encode_texts)
    config = RobertaConfig(257, 32, 2, 4, 48, 66)
    (row,) = pair_rows(bare, ["a"], ["b"], config=config, places=["x"])  # type: ignore[arg-type]
    assert row.tokens.tolist() == [256, *begun.encode("a"), 256, *begun.encode("b")]
    bare.begin = None
    with pytest.raises(ValueError, match="no begin or end token"):
        pair_rows(bare, ["a"], ["b"], config=config, places=["x"])  # type: ignore[arg-type]
