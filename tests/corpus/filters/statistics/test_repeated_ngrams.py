"""Repeated n-grams, beside a slow counter (PILE-8)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch


def top(words: list[str], n: int) -> int:
    counts = Counter(" ".join(words[k : k + n]) for k in range(len(words) - n + 1))
    if not counts:
        return 0
    text, often = counts.most_common(1)[0]
    return len(text) * often


def said_again(words: list[str], n: int) -> int:
    seen, total, at = set(), 0, 0
    while at <= len(words) - n:
        ngram = tuple(words[at : at + n])
        if ngram in seen:
            total += len("".join(ngram))
            at += n
        else:
            seen.add(ngram)
            at += 1
    return total


def check(*texts: str) -> None:
    found = Texts.of_strings(texts, [{}] * len(texts), Scratch()).statistics.ngrams.characters
    for number, text in enumerate(texts):
        words = text.split()
        expected = {n: top(words, n) for n in range(2, 5)}
        expected |= {n: said_again(words, n) for n in range(5, 11)}
        assert {n: int(found[n, number]) for n in range(2, 11)} == expected, text


@given(st.lists(st.text("ab ", max_size=80), max_size=4))
def test_few_words(texts: list[str]) -> None:
    check(*texts)


@given(st.lists(st.sampled_from(["one", "two", "three", "four", "five", "sixth"]), max_size=120))
def test_many_words(words: list[str]) -> None:
    check(" ".join(words))


@given(st.randoms(use_true_random=False), st.integers(1, 30), st.integers(2, 6))
def test_sentences_that_come_back(rng: random.Random, num: int, often: int) -> None:
    sentences = [" ".join(rng.choices("abcdefgh", k=rng.randrange(1, 14))) for _ in range(num)]
    check(" . ".join(rng.choices(sentences, k=num * often)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one",
        "one two",
        "one two three",
        "a b a b a b",
        "first pair second pair first pair second pair",
        "word " * 1000,
        " ".join(map(str, range(3000))),
        " ".join(map(str, range(300))) + " " + " ".join(map(str, range(300))),
        "é 日本語 " * 40,
    ],
)
def test_edges(text: str) -> None:
    check(text, "neighbour", text)
