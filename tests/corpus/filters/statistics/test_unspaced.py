"""Blanks between words in scripts that have none (PILE-8)."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics.unspaced import with_blanks
from barrow.corpus.kernels.scratch import Scratch

SCRIPTS = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO ", "KHMER", "MYANMAR")


def spread(*texts: str) -> list[str]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)])
    out, new = with_blanks(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch())
    return [out[a:b].tobytes().decode() for a, b in pairwise(new)]


def slowly(text: str) -> str:
    out, in_word, after_blank = "", False, False
    for k, c in enumerate(text):
        name, is_letter = unicodedata.name(c, ""), c.isalpha()
        is_base = name.startswith(SCRIPTS) and unicodedata.category(c)[0] == "L"
        other = not is_base and (is_letter or c in "0123456789")
        if (is_base and not after_blank) or (in_word and other):
            out += " "
        in_word = is_base or (in_word and not other)
        is_point = c in "་༌"
        after_blank = is_point or c in "\u17d2\u1039" or c.isspace() or c < " "
        out += c + (" " if is_point and k + 1 < len(text) else "")
    return out


def test_words_of_scripts_without_blanks() -> None:
    assert [text.split() for text in spread("我用Python写。你呢?", "カタカナ", "ที่นี่ ดี")] == [
        ["我", "用", "Python", "写。", "你", "呢?"],
        ["カ", "タ", "カ", "ナ"],
        ["ที่", "นี่", "ดี"],
    ]
    # A letter that is written below another belongs to it; syllables end with a point.
    assert spread("ក្នុង")[0].split() == ["ក្នុ", "ង"]
    assert spread("བོད་ཡིག")[0].split() == ["བོད་", "ཡིག"]


def test_other_scripts_stay_as_they_are() -> None:
    texts = ("Grüße, 42 Wörter – daß!", "Привет, мир.", "안녕하세요 여러분", "नमस्ते दुनिया", "")
    assert spread(*texts) == list(texts)


@given(st.lists(st.text("aZ5 .\n é字がカー。「ทไี่ๆລກ្នះမြ္མབ་ོ한नि𠀀"), max_size=4))
def test_as_a_slow_one(texts: list[str]) -> None:
    assert spread(*texts) == list(map(slowly, texts))
