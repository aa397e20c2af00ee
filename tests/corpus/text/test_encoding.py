from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.text.encoding import decode

RUSSIAN = "Если ты скажешь большой языковой модели фразу, то она продолжит её. " * 5
FRENCH = "L'été, les élèves français préfèrent la forêt à la plage. " * 5


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_utf8_is_always_itself(text: str) -> None:
    if not text.encode().startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        assert decode(text.encode()) == (text, "utf-8")


@pytest.mark.parametrize("name", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(name: str) -> None:
    found = decode(RUSSIAN.encode(name))
    assert found is not None
    assert found[0] == RUSSIAN


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_without_a_mark(name: str) -> None:
    text = "Plain English, told by its zero bytes. " * 10
    assert decode(text.encode(name)) == (text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (FRENCH, "cp1252"),
        ("漢字とかな。" * 40, "shift_jis"),
    ],
)
def test_old_encodings_by_statistics(text: str, name: str) -> None:
    found = decode(text.encode(name))
    assert found is not None
    assert found[0] == text


def test_a_declaration_is_believed_unless_it_is_utf8() -> None:
    assert decode("Grüße".encode("latin-1"), "iso-8859-1") == ("Grüße", "iso8859-1")
    assert decode("Grüße".encode(), "iso-8859-1") == ("Grüße", "utf-8")
    assert decode("Grüße".encode("cp1252"), "no-such-codec") == ("Grüße", "iso8859-1")


@given(st.binary())
def test_any_bytes_are_text_or_not(data: bytes) -> None:
    found = decode(data)
    if found is not None:
        found[0].encode()


@pytest.mark.parametrize(
    "name", ["idna", "punycode", "unicode_escape", "undefined", "no-such", "a\0b"]
)
def test_codecs_that_are_no_encodings_are_not_believed(name: str) -> None:
    data = "Grüße aus Köln, schöne Straße".encode("cp1252")
    assert decode(data, name) == decode(data)
