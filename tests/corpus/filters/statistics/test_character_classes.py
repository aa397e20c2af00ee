"""Flags of characters, beside Python's own methods and data."""

from __future__ import annotations

import string
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics import characters as module
from barrow.corpus.filters.statistics.characters import (
    character_classes,
    class_before,
    num_characters,
)
from barrow.corpus.kernels.utf8 import code_at, code_size

EVERY = [chr(code) for code in range(0x110000)]


@pytest.mark.parametrize(
    ("flag", "has"),
    [
        (module.SPACE, str.isspace),
        (module.BREAK, lambda c: len(f"a{c}b".splitlines()) == 2),
        (module.LETTER, str.isalpha),
        (module.CAPITAL, str.isupper),
        (module.DIGIT, str.isdecimal),
        (module.SYMBOL, lambda c: unicodedata.category(c)[0] in "PS"),
    ],
)
def test_flags_are_those_of_python(flag: int, has: object) -> None:
    assert callable(has)
    expected = np.array([has(c) for c in EVERY])
    assert np.array_equal((character_classes() & flag) != 0, expected)


def test_marks() -> None:
    marks = {c for c, flags in zip(EVERY, character_classes(), strict=True) if flags & module.MARK}
    assert marks >= set(string.punctuation) | set("—“”…。！？\x00\x7f\x9f")
    assert not marks & set("aé1日１•→ ")
    assert all(unicodedata.category(c)[0] in "PSC" for c in marks)


def test_terminal_marks() -> None:
    classes = character_classes()
    terminal = {c for c, flags in zip(EVERY, classes, strict=True) if flags & module.TERMINAL}
    assert terminal >= set(".!?。！？؟।‼།༎")
    assert len(terminal) == 159 + 5, "those of Unicode, and five of Tibetan"
    assert not terminal & set(",;:…\"'”")
    assert all(classes[ord(c)] & module.MARK for c in terminal)


@given(st.text(min_size=1, max_size=8))
def test_characters_are_decoded(text: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    at, found = np.uint64(0), ""
    while at < len(data):
        assert (
            class_before(data, np.uint64(0), at + code_size(data[at]), character_classes())
            == (character_classes()[ord(text[len(found)])])
        )
        found += chr(code_at(data, at))
        at += code_size(data[at])
    assert found == text
    assert num_characters(data, np.uint64(0), np.uint64(len(data))) == len(text)
