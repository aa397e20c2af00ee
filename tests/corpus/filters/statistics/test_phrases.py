"""Phrases are found whatever their case, and only inside a text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.statistics.phrases import find_phrases
from barrow.errors import ConfigError

PHRASES = ("use cookies", "javascript", "{", "aab", "tea")


def found(texts: list[str], phrases: tuple[str, ...] = PHRASES) -> list[bool]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return find_phrases(np.frombuffer(b"".join(data), np.uint8), offsets, phrases).tolist()


pieces = st.sampled_from(
    ["use ", "cookies", "Cookies", "JAVA", "script", "a", "A", "b", "{", "te", "é"]
)


@given(st.lists(st.lists(pieces, max_size=6).map("".join), max_size=5))
def test_as_python_finds_them(texts: list[str]) -> None:
    expected = [any(phrase in text.lower() for phrase in PHRASES) for text in texts]
    assert found(texts) == expected


def test_not_across_texts() -> None:
    assert found(["java", "script", "JavaScript"]) == [False, False, True]


@pytest.mark.parametrize("phrase", ["", " ", "Upper", "é"])
def test_what_cannot_be_looked_for(phrase: str) -> None:
    with pytest.raises(ConfigError, match="ASCII in lower case"):
        found(["text"], (phrase,))
