"""Stop words: how many different ones, up to enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.gopher_quality import num_stop_words
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

STOP_WORDS = ("the", "of", "and", "é", "longer-than-8-bytes")


def found(enough: int, *texts: str) -> list[int]:
    words = Texts.of_strings(texts, [{}] * len(texts), Scratch()).statistics.words
    return num_stop_words(words, STOP_WORDS, enough).tolist()


@given(
    st.lists(st.lists(st.sampled_from([*STOP_WORDS, "The", "other", "the,"]), max_size=12)),
    st.integers(1, 6),
)
def test_different_stop_words(documents: list[list[str]], enough: int) -> None:
    expected = [min(enough, len(set(words) & set(STOP_WORDS))) for words in documents]
    assert found(enough, *map(" ".join, documents)) == expected


def test_case_and_punctuation_count() -> None:
    assert found(5, "the the", "The OF and,", "of the and é longer-than-8-bytes") == [1, 0, 5]


def test_many_stop_words() -> None:
    many = tuple(f"word{number}" for number in range(500))
    words = Texts.of_strings([" ".join(many) + " other"], [{}], Scratch()).statistics.words
    assert num_stop_words(words, many, 1000).tolist() == [500]
