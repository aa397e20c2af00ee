"""Words between white space, beside str.split (PILE-8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics.characters import MARK, character_classes
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

PIECES = ["the ", "barrow", "-- ", "...", "12", " ", "\t", "\n", "\u00a0", "\u2003", "é", "日本語 "]
PIECES += ["exactly8", "word" * 30, "a" * 63 + " ", "«»", "\x00", "\x1f", "naïve ", "Слово ", "🙂"]
PIECES += ["the quick brown fox jumps over the lazy dog and runs home again, well; 9 "]
texts = st.lists(st.sampled_from(PIECES), max_size=50).map("".join)


def check(text: str, before: str = "", after: str = "") -> None:
    words = Texts.of_strings([before, text, after], [{}] * 3, Scratch()).statistics.words
    split = text.split()
    first, last = words.offsets[1], words.offsets[2]
    assert words.num_words[1] == len(split)
    assert words.lengths[first:last].tolist() == [len(word) for word in split]
    marks = character_classes() & MARK
    plain = [word for word in split if not all(marks[ord(c)] for c in word)]
    assert words.plain_words[1] == len(plain)
    assert words.plain_characters[1] == sum(map(len, plain))
    assert words.alphabetic_words[1] == sum(any(map(str.isalpha, word)) for word in split)
    known: dict[int, str] = {}
    for value, word in zip(words.hashes[first:last].tolist(), split, strict=True):
        assert known.setdefault(value, word) == word
    assert len(known) == len(set(split))
    alone = Texts.of_strings([" ".join(split)], [{}], Scratch()).statistics.words
    assert alone.hashes.tolist() == words.hashes[first:last].tolist()


@given(
    texts, st.sampled_from(["", "x", "é", "y " * 50]), st.sampled_from(["", "x", "日", "z" * 99])
)
def test_words_are_those_of_python(text: str, before: str, after: str) -> None:
    check(text, before, after)


@given(st.text(max_size=150))
def test_any_text(text: str) -> None:
    check(text)


@pytest.mark.parametrize("size", [*range(20), *range(55, 75), *range(120, 140)])
def test_words_of_any_length(size: int) -> None:
    for text in (
        "x" * size,
        f"{'x' * size} y",
        f" {'x' * size}\n",
        "é" + "x" * size,
        "x" * size + "é",
    ):
        check(
            text + " some more words so that there is another window behind it, and one more " * 2
        )
        check(text)
