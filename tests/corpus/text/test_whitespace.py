from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.text.whitespace import is_binary, tidy


def test_tidy() -> None:
    text = "\ufeff\n\na  b \r\nc\rd\t\n\n\n\n  e\x00\x07\x0cf\ud800\n\n"
    assert tidy(text) == "a  b\nc\nd\n\n  e\nf\ufffd"


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_any_text_is_made_tidy_once(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    once.encode()
    assert "\n\n\n" not in once
    assert not any(line != line.rstrip() for line in once.split("\n"))


def test_binary() -> None:
    assert is_binary("\x00\x01\x02 text")
    assert not is_binary("text\n\twith \x1b[1m colours" * 9)
    assert not is_binary("")
