"""Sentences by their marks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics.characters import TERMINAL, character_classes
from barrow.corpus.filters.statistics.sentences import num_sentences

CLOSERS = "\"')]}»”’"


def counted(*texts: str, enough: int = 1000) -> list[int]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return num_sentences(np.frombuffer(b"".join(data), np.uint8), offsets, enough).tolist()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0),
        (" \n ", 0),
        ("no mark", 1),
        ("One. Two! Three? Four", 4),
        ('He said "stop." Then left.', 2),
        ("J. R. Smith of the U.S. Navy, e.g. this one.", 1),
        ("Wait... what?", 1),
        ("A line without a mark\nand another", 2),
        ("One sentence\n\n\nand one.", 2),
        ("See example.com. Version 3.14. End", 3),
        ("今日は。 明日も！ ok", 3),
        ("(It ends.) [Here too!] More", 3),
        ("? ! .", 3),
    ],
)
def test_examples(text: str, number: int) -> None:
    assert counted(text) == [number]


def slowly(text: str) -> int:
    number = 0
    for line in text.splitlines():
        inside = False
        for word in line.split():
            number += not inside
            inside = True
            bare = [c for c in word if c not in CLOSERS]
            third, second, last = ["", "", "", *bare][-3:]
            if last and character_classes()[ord(last)] & TERMINAL:
                short = second == "." or (second.isalpha() and third in ("", "."))
                inside = last == "." and short
    return number


@given(st.lists(st.text('ab.!"…) \n\r日。é', max_size=40), max_size=5), st.integers(1, 9))
def test_the_definition_slowly(texts: list[str], enough: int) -> None:
    assert counted(*texts) == [slowly(text) for text in texts]
    assert counted(*texts, enough=enough) == [min(enough, slowly(text)) for text in texts]
