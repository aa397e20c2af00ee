from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from barrow.tokens.byte_alphabet import LETTERS, spelled, unspelled


def test_letters_are_those_of_the_reference() -> None:
    assert sorted(LETTERS) == sorted(pre_tokenizers.ByteLevel.alphabet())
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in ("abc", " \n\t\x00", "é日🙂", "\x7f\x80\xa0\xad"):
        assert spelled(text.encode()) == cut.pre_tokenize_str(text)[0][0]


@given(st.binary())
def test_there_and_back(data: bytes) -> None:
    assert unspelled(spelled(data)) == data


def test_other_letters_spell_nothing() -> None:
    assert unspelled("日") is None
    assert unspelled("a b") is None
