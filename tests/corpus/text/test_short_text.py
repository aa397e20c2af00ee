from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.text.encoding import decode_short


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("naïve café à la carte", "cp1252"),
        ("naïve café à la carte", "utf-8"),
        ("Grüße aus Köln", "cp1252"),
        ("Привет, как дела у вас сегодня?", "cp1251"),
        ("Не работает звук после обновления", "koi8-r"),
        ("plain", "ascii"),
        ("", "ascii"),
    ],
)
def test_sentences(text: str, encoding: str) -> None:
    found = decode_short(text.encode(encoding))
    assert found is not None
    assert found[0] == text


def test_what_is_declared_and_fits_is_believed() -> None:
    data = "zażółć gęślą jaźń, powiedział wczoraj".encode("iso-8859-2")
    assert decode_short(data, "iso-8859-2") == (data.decode("iso-8859-2"), "iso8859-2")
    assert decode_short(b"a caf\xe9 for two", "utf-8") == ("a café for two", "cp1252")
    assert decode_short(b"a caf\xe9 for two", "nonsense\0") == ("a café for two", "cp1252")


@given(st.binary(max_size=100), st.text(max_size=10))
def test_any_bytes(data: bytes, declared: str) -> None:
    found = decode_short(data, declared)
    if found is not None:
        found[0].encode()
