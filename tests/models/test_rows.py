from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.models.roberta.model import RobertaConfig
from barrow.models.rows import marked_row, padded, text_rows
from barrow.models.text import open_tokenizer
from barrow.tokens import Tokenizer

CONFIG = RobertaConfig(330, 32, 1, 4, 48, 66)


@pytest.fixture(scope="module")
def reader(roberta_folder: Callable[[str], Path]) -> Tokenizer:
    return open_tokenizer(roberta_folder("mlm"))


def test_as_transformers_frames_texts(roberta: Any, reader: Tokenizer) -> None:
    texts = ["Paris is the capital", "", "naïve 🙂", " two  spaces "]
    rows = text_rows(reader, texts, config=CONFIG)
    assert [row.tokens.tolist() for row in rows] == roberta.tokenized(texts)["ids"]
    marked = "the <mask> of</s>x"
    expected = roberta.tokenized(marked)["ids"]
    assert marked_row(reader, marked, config=CONFIG).tokens.tolist() == expected


def test_truncation_keeps_the_end_token(roberta: Any, reader: Tokenizer) -> None:
    text = "Paris is the capital of France. " * 20
    with pytest.raises(ValueError, match=r"text 7: \d+ tokens, but the model takes 64"):
        text_rows(reader, ["a", text], config=CONFIG, first=6)
    (row,) = text_rows(reader, [text], config=CONFIG, truncate=True)
    theirs = roberta.tokenized(text, truncation=True, max_length=64)["ids"]
    assert row.tokens.tolist() == theirs
    assert row.num_cut == len(reader.encode(text)) + 2 - 64


def test_a_tokenizer_of_another_model(reader: Tokenizer) -> None:
    with pytest.raises(ValueError, match="the model has 20 ids: do they match"):
        text_rows(reader, ["Paris"], config=RobertaConfig(20, 32, 1, 4, 48, 66))


@given(st.lists(st.integers(1, 64), min_size=1, max_size=9), st.integers(0, 3))
def test_padding(lengths: list[int], more: int) -> None:
    rows = [np.full(length, 5) for length in lengths]
    tokens, found = padded(rows, config=CONFIG, num_rows=len(rows) + more)
    assert found.tolist() == lengths + [1] * more
    assert ((tokens == 5).sum(1) == [*lengths, *[0] * more]).all()
    assert max(lengths) <= tokens.shape[1] <= 64
    assert (tokens[tokens != 5] == 1).all()
