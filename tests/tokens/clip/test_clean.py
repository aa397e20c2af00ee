from __future__ import annotations

import sys

import pytest

from barrow.errors import MissingExtra
from barrow.tokens.clip.clean import cleaned, words


def test_cleaning() -> None:
    """CLIP-3: repaired, unescaped twice, one space, lower case."""
    assert cleaned("  The\tschÃ¶n &amp;amp; GREAT\n\u00a0&lt;b&gt; ") == "the schön & great <b>"
    assert cleaned("\n") == ""
    # Where there is a tag, ftfy leaves entities to the two readings that follow.
    assert cleaned("<i>&amp;lt; &amp;amp;lt;") == "<i>< &lt;"


def test_words() -> None:
    assert words("it's 12 o'clock!? naïve😀") == [
        *("it", "'s", "1", "2", "o", "'", "clock", "!?", "naïve", "😀")
    ]


@pytest.mark.parametrize("library", ["ftfy"])
def test_a_library_that_is_missing(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"needs ftfy: pip install '.\[clip\]'"):
        cleaned("x")
