"""Blanks between words in scripts that have none (PILE-8)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics.sentences import num_sentences
from barrow.corpus.filters.statistics.unspaced import unspaced_words
from barrow.corpus.filters.statistics.words import SpacedWords, spaced_words
from barrow.corpus.kernels.scratch import Scratch

SCRIPTS = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO ", "KHMER", "MYANMAR")


def words_of(*texts: str) -> list[list[int]]:
    """The hashes of the words of each text."""
    return _by_text(unspaced_words, texts)


def spaced(*texts: str) -> list[list[int]]:
    return _by_text(spaced_words, texts)


def _by_text(count: Callable[..., SpacedWords], texts: tuple[str, ...]) -> list[list[int]]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)])
    found = count(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch())
    return [found.hashes[a:b].tolist() for a, b in pairwise(found.offsets)]


def slowly(text: str) -> str:
    """The text with blanks between words."""
    out, begun, joined, ended = "", False, False, False
    for c in text:
        name, is_letter = unicodedata.name(c, ""), c.isalpha() or c.isdecimal()
        begins = name.startswith(SCRIPTS) and unicodedata.category(c)[0] == "L"
        if ended or (not joined and (begins or (begun and is_letter))):
            out, begun = out + " ", False
        begun = (begun or begins) and not c.isspace()
        joined, ended = c in "\u17d2\u1039", c in "་༌"
        out += c
    return out


def test_words_of_scripts_without_blanks() -> None:
    assert words_of("我用Python写。你呢?", "カタカナ", "ที่นี่ ดี") == spaced(
        "我 用 Python 写。 你 呢?", "カ タ カ ナ", "ที่ นี่ ดี"
    )
    # A letter that is written below another belongs to it; syllables end with a point.
    assert words_of("ក្នុង", "བོད་ཡིག") == spaced("ក្នុ ង", "བོད་ ཡིག")


def test_other_scripts_stay_as_they_are() -> None:
    texts = ("Grüße, 42 Wörter – daß!", "Привет, мир.", "안녕하세요 여러분", "नमस्ते दुनिया", "")
    assert words_of(*texts) == spaced(*texts)


def test_counts_are_those_of_words_between_blanks() -> None:
    texts = ("我用Python3写。“你” 呢, 42?", "—— 字 !!", "ไทย 12.5 กข")
    data = [[text.encode() for text in some] for some in (texts, tuple(map(slowly, texts)))]
    one, other = (
        count(np.frombuffer(b"".join(d), np.uint8), np.cumsum([0, *map(len, d)]), Scratch())
        for count, d in zip((unspaced_words, spaced_words), data, strict=True)
    )
    for name in SpacedWords._fields:
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def test_sentences_need_no_blanks() -> None:
    texts = (
        "我来了。你呢？他也来！好",
        "「はい。」と言った。\nそうです",
        "one. two. three 3.5 four.",
    )
    data = [text.encode() for text in texts]
    buffer, offsets = np.frombuffer(b"".join(data), np.uint8), np.cumsum([0, *map(len, data)])
    assert num_sentences(buffer, offsets, 9, unspaced=True).tolist() == [4, 3, 3]
    assert num_sentences(buffer, offsets, 9).tolist() == [1, 2, 3]


@given(st.lists(st.text("aZ5 .\n é字がカー。「ทไี่ๆລກ្នះမြ္མབ་ོ한नि𠀀"), max_size=4))
def test_as_a_slow_one(texts: list[str]) -> None:
    assert words_of(*texts) == spaced(*map(slowly, texts))
