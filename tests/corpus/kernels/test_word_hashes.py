"""Words as hashes: the same for what a person would call the same wording (PILE-12)."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes


def hashes_of(*texts: str) -> list[list[int]]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    words = word_hashes(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch())
    return [
        words.hashes[a:b].tolist() for a, b in zip(words.offsets, words.offsets[1:], strict=False)
    ]


def words_of(text: str) -> list[str]:
    """The definition again, the slow way, for scripts that have spaces."""
    words, word = [], ""
    for character in unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()):
        category = unicodedata.category(character)
        if category[0] in "LN":
            word += character
        elif category not in ("Mn", "Mc", "Me", "Cf"):
            words.append(word)
            word = ""
    return [word for word in [*words, word] if word]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aBcdefghijk Z09.,-'\n  éÉßﬁΩωд“”—\u00ad\u0301ﬀ𝔘"), max_size=300))
def test_words_are_those_of_the_definition(text: str) -> None:
    known: dict[int, str] = {}
    (found,) = hashes_of(text)
    expected = words_of(text)
    assert len(found) == len(expected)
    for value, word in zip(found, expected, strict=True):
        assert known.setdefault(value, word) == word
        assert hashes_of(word) == [[value]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab cdé日,. \n", max_size=150), min_size=1, max_size=5), st.integers(0, 90))
def test_neighbours_in_the_buffer_make_no_difference(texts: list[str], padding: int) -> None:
    together = hashes_of(*texts, "z" * padding)
    assert together[:-1] == [hashes_of(text)[0] for text in texts]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The quick brown fox", "the\nQUICK   brown -- fox!"),
        ("café naïve", unicodedata.normalize("NFD", "CAFÉ naïve")),
        ("office ﬂuﬀ", "oﬃce fluff"),
        ("Straße", "STRASSE"),
        ("don't stop", "don’t stop"),
        ("co\u00adoperate", "cooperate"),
        ("ABC １２３", "abc 123"),
        ("한국어 문장", unicodedata.normalize("NFD", "한국어 문장")),
        ("x" * 100 + " " + "y" * 200, "X" * 100 + "\n" + "Y" * 200),
    ],
)
def test_the_same_wording(one: str, other: str) -> None:
    assert hashes_of(one) == hashes_of(other)


def test_scripts_without_spaces_have_characters_for_words() -> None:
    (words,) = hashes_of("人人生而自由。ก็ดี")
    assert len(words) == 6 + 2  # the Thai vowel marks count for nothing
    assert words[0] == words[1]


def test_nothing_to_read() -> None:
    assert hashes_of("", "…!?", " \n", "\u0301\u200b") == [[], [], [], []]


def test_different_words_differ() -> None:
    words = [
        f"{prefix}{number}" for prefix in ("", "x", "é", "longerthan8") for number in range(999)
    ]
    (found,) = hashes_of(" ".join(words))
    assert len(set(found)) == len(words)
    assert hashes_of("ab c") != hashes_of("a bc")
    assert hashes_of("abcdefgh i") != hashes_of("abcdefghi")
