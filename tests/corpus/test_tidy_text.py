from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.tidy_text import is_binary, tidy


def test_tidy() -> None:
    assert tidy("a  \r\nb\rc\n\n\n\nd\0\x07\n\n") == "a\nb\nc\n\nd"
    assert tidy("x\ud800y") == "x�y"
    assert tidy("  indented\tkept") == "  indented\tkept"


@given(st.text(st.characters()))
def test_tidy_text_stays_tidy(text: str) -> None:
    once = tidy(text)
    once.encode()
    assert tidy(once) == once
    assert "\n\n\n" not in once
    assert "\0" not in once


def test_binary() -> None:
    assert is_binary("\x01\x02\x03 abc")
    assert not is_binary("plain text\n" * 100)
