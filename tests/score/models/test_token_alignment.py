"""Tokens, as servers tell them, laid on a text."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import ScoreError
from barrow.score.models.token_alignment import spread, token_ends


@given(st.lists(st.text("ab é日🙂", min_size=1, max_size=4), max_size=8), st.integers(0, 9))
def test_tokens_that_are_text(tokens: list[str], seed: int) -> None:
    text = "".join(tokens)
    ends = token_ends(text, tokens)
    assert ends.tolist() == np.cumsum([len(token) for token in tokens]).tolist()
    nats = np.random.default_rng(seed).exponential(size=len(tokens))
    found = spread(text, ends, nats)
    expected = [
        value / len(token.encode())
        for token, value in zip(tokens, nats.tolist(), strict=True)
        for _ in token.encode()
    ]
    assert found.tolist() == pytest.approx(expected)


@given(
    st.lists(st.sampled_from("ab é日🙂\ufffd"), min_size=1, max_size=10),
    st.lists(st.integers(0, 40), max_size=8),
)
def test_tokens_that_cut_characters(characters: list[str], cuts: list[int]) -> None:
    """Any cut of the bytes, each part decoded alone, as a server would."""
    text = "".join(characters)
    data = text.encode()
    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    parts = [data[a:b] for a, b in itertools.pairwise(places)]
    tokens = [part.decode(errors="replace") for part in parts]
    ends = token_ends(text, tokens)
    nats = np.arange(1.0, len(tokens) + 1)
    found = spread(text, ends, nats)
    assert len(found) == len(data)
    assert found.sum() == pytest.approx(nats.sum())
    assert (np.diff(ends) >= 0).all()
    assert ends[-1] == len(text)


def test_one_character_in_several_tokens() -> None:
    text = "a🙂b"
    ends = token_ends(text, ["a", "\ufffd", "bytes:\\x99\\x82", "b"])
    assert ends.tolist() == [1, 2, 2, 3]
    found = spread(text, ends, np.array([1.0, 2.0, 6.0, 3.0]))
    assert found.tolist() == [1.0, 2.0, 2.0, 2.0, 2.0, 3.0]


def test_tokens_without_text_go_with_what_comes_next() -> None:
    ends = token_ends("ab", ["", "a", "", "b"])
    assert spread("ab", ends, np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["ab", "x"], r"at character 2 it has 'cd', the server 'x'"),
        (["ab", "\ufffd", "x"], "at character 3"),
        (["ab"], "cover 2 of the text's 4 characters: it truncates long texts"),
        ([], "cover 0 of the text's 4"),
        (["abcd", "e"], "do not spell"),
        (["\ufffd"], "cover 1 of the text's 4"),
        (["bytes:\\xe2\\x80"], "cover 2 of the text's 4"),
    ],
)
def test_tokens_of_another_text(tokens: list[str], words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        token_ends("abcd", tokens)
