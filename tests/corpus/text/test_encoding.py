from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.text.encoding import codec_of, decode

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


@pytest.mark.parametrize(
    "text", [RUSSIAN, FRENCH, "漢字とかな。" * 40, "It’s “quoted” twice. " * 50]
)
@pytest.mark.parametrize("declared", [None, "iso-8859-1", "utf-8"])
def test_utf8_with_a_wrong_byte_is_utf8(text: str, declared: str | None) -> None:
    """PILE-5: one wrong byte in a thousand does not make another encoding of a file."""
    data = text.encode() * 8
    for wrong in (b"\xff", b"\x81", b"\xe9"):
        damaged = data + wrong + data
        assert decode(damaged, declared) == (text * 8 + "\ufffd" + text * 8, "utf-8")
    too_many = (text[:300].encode() + b"\xff") * 20
    assert decode(too_many, declared) != (too_many.decode("utf-8", "replace"), "utf-8")


@pytest.mark.parametrize("text", [RUSSIAN, FRENCH, "漢字とかな。", "One “quote", "a 🙂🙂"])
def test_a_character_cut_at_the_end(text: str) -> None:
    for mark in (b"", codecs.BOM_UTF8):
        data = mark + text.encode() + "€".encode()[:2]
        assert decode(data) == (text + "\ufffd", "utf-8")
    wide = codecs.BOM_UTF16_LE + text.encode("utf-16-le") + b"x"
    assert decode(wide) == (text + "\ufffd", "utf-16-le")


@pytest.mark.parametrize(
    "data", [b"caf\xe9", b"plain text " * 1000 + b"na\xefve", b"\xc9\xbb \xe9"]
)
def test_a_rare_letter_of_another_encoding_is_that_letter(data: bytes) -> None:
    found = decode(data)
    assert found is not None
    assert "\ufffd" not in found[0]


def test_ascii_with_a_byte_of_no_encoding() -> None:
    assert decode(b"plain text " * 200 + b"\x81") == ("plain text " * 200 + "\ufffd", "utf-8")


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("iso8859-1", "ISO 8859-1|iso8859_1|latin-1|ISO Latin 1|ISO-Latin-1|ISO_8859-1:1987|l1"),
        ("cp1252", "Windows-1252|windows 1252|win1252|CP-1252|cp 1252|x-cp1252|ANSI"),
        ("cp1251", "win-1251|Windows_1251|x-cp1251|code page 1251"),
        ("utf-8", "UTF 8|utf8|UTF-8 (BOM)|Unicode UTF-8|unicode-1-1-utf-8|cp65001"),
        ("ascii", "US-ASCII|us ascii|ISO-646-US (US-ASCII)|ANSI_X3.4-1968"),
        ("koi8-r", "KOI8R|koi8_r|koi8|KOI8-R"),
        ("cp932", "windows-31j|ms_kanji|cp932"),
        ("shift_jis", "Shift JIS|x-sjis|shift-jis"),
        ("iso8859-8", "ISO-8859-8-I|visual"),
        ("iso8859-15", "iso885915|Latin 9|csisolatin9"),
        ("mac-cyrillic", "x-mac-cyrillic|x-mac-ukrainian"),
        ("cp850", "IBM850|CP 850|Codepage-850"),
        (None, "idna|hex|rot13|no such|MIDI|"),
    ],
)
def test_names_in_all_their_spellings(name: str | None, labels: str) -> None:
    assert {label: codec_of(label) for label in labels.split("|")} == dict.fromkeys(
        labels.split("|"), name
    )
