from __future__ import annotations

import base64
import email
import email.header
import email.policy
import quopri
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.mail.mime import (
    Part,
    decoded,
    decoded_words,
    enclosed_parts,
    parse_part,
    transferred,
    unflowed,
)


def part(body: bytes = b"", **header: bytes) -> Part:
    return Part({name.replace("_", "-"): value for name, value in header.items()}, body)


def test_header_and_body() -> None:
    raw = b"From x\nSubject: one\n two\r\nSUBJECT: again\nX-Y:z\n\nbody\n\nmore\n"
    parsed = parse_part(raw)
    assert parsed.text("subject") == "one two"
    assert parsed.header.keys() == {"subject", "x-y"}
    assert parsed.body == b"body\n\nmore\n"
    assert parse_part(b"Subject: x\rTo: y\r\rbody").body == b"body"  # line ends of old Macintoshes
    assert parse_part(b"Subject: x\nno header, no blank line\n").body.startswith(b"no header")


def test_parameters() -> None:
    typed = part(content_type=b'Text/HTML ; charset="a;\\"b"; name*=utf-8; boundary = x y ; z')
    assert typed.value("content-type") == "text/html"
    found = [typed.parameter(name) for name in ("charset", "name", "boundary", "z", "none")]
    assert found == ['a;"b', "utf-8", "x y", "", ""]


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        (b"Wed, 14 Aug 2002 22:52:37 +0100", "2002-08-14T22:52:37+01:00"),
        (b"14 Aug 02 22:52 EST", "2002-08-14T22:52:00-05:00"),
        (b"Wed, 14 Aug 2002 22:52:37 -0000", "2002-08-14T22:52:37+00:00"),
        (b"Tue, 06 Aug 2002 07:54:41 -9900", ""),
        (b"Tue, 99 Aug 2002 07:54:41 +0000", ""),
        (b"yesterday", ""),
        (b"", ""),
        (b"\xff" * 1000, ""),
    ],
)
def test_dates(written: bytes, iso: str) -> None:
    assert part(date=written).date == iso


def test_parts() -> None:
    body = b"preamble\n--b\r\nX: 1\n\none\n--b  \n\ntwo\n--bb\n--b--\nepilogue\n--b\n\nnot a part"
    whole = part(body, content_type=b"multipart/mixed; boundary=b")
    assert [p.body for p in enclosed_parts(whole)] == [b"one", b"two\n--bb"]
    cut = part(b"--b\n\none\n--b\n\ntw", content_type=b"multipart/mixed; boundary=b")
    assert [p.body for p in enclosed_parts(cut)] == [b"one", b"tw"]
    unnamed = part(
        b"\n--x y\nContent-Type: text/plain\n\none\n--x y--", content_type=b"multipart/x"
    )
    assert [p.body for p in enclosed_parts(unnamed)] == [b"one"]
    assert enclosed_parts(part(b"none", content_type=b"multipart/mixed; boundary=b")) == []
    digest = part(b"--b\n\nSubject: x\n\ny\n--b--", content_type=b"multipart/digest; boundary=b")
    assert enclosed_parts(digest)[0].value("content-type") == "message/rfc822"


@given(st.binary(max_size=80))
def test_transfer_encodings(data: bytes) -> None:
    """Against the standard library's encoders."""
    encoded = base64.encodebytes(data)
    assert transferred(part(encoded, content_transfer_encoding=b"Base64")) == data
    quoted = quopri.encodestring(data)
    plain = transferred(part(quoted, content_transfer_encoding=b"quoted-printable"))
    assert plain == quopri.decodestring(quoted)
    assert transferred(part(data, content_transfer_encoding=b"8bit")) == data


def test_base64_that_is_damaged() -> None:
    def of(body: bytes) -> bytes:
        return transferred(part(body, content_transfer_encoding=b"base64"))

    assert of(b"aGVs\nbG8=\n_______\nList footer\n") == b"hello"
    assert of(b"aGVsbG8") == b"hello"
    assert of(b"aGVsb") == b"hel"
    assert of(b"this is no base64 at all") == b"this is no base64 at all"
    assert of(b"") == b""


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("naïve".encode(), "us-ascii", "naïve"),
        ("“naïve”".encode("cp1252"), "iso-8859-1", "“naïve”"),
        ("日本語".encode("iso-2022-jp"), "ISO-2022-JP", "日本語"),
        ("Привет, мир".encode("koi8-r"), '"koi8-r"', "Привет, мир"),
        ("鎔基".encode("gb18030"), "gb2312", "鎔基"),
        ("naïve café à la carte".encode("cp1252"), "no-such-charset", "naïve café à la carte"),
        ("naïve café à la carte".encode("cp1252"), "punycode", "naïve café à la carte"),
        (b"a\0b\xe9", "", "abé"),
        (b"", "x\0y", ""),
    ],
)
def test_charsets(data: bytes, charset: str, text: str) -> None:
    assert decoded(data, charset) == text


def test_encoded_words() -> None:
    cases = {
        "plain": "plain",
        "=?utf-8?q?caf=C3=A9_au?= lait": "café au lait",
        "a =?iso-8859-1?Q?=E9?= =?iso-8859-1?Q?=E8?= b": "a éè b",
        "=?utf-8?b?w6k=?=": "é",
        "=?utf-8?b?w?= =?utf-8?q?=C3?= =?utf-8?q?=A9?=": "é",
        "=?utf-8?x?abc?=": "=?utf-8?x?abc?=",
        "=?utf-8*en?q?x?=": "x",
    }
    assert {value: decoded_words(value) for value in cases} == cases


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1))
def test_encoded_words_of_the_standard_library(text: str) -> None:
    encoded = email.header.Header(text, "utf-8", maxlinelen=40).encode()
    assert decoded_words(" ".join(encoded.split())) == " ".join(text.replace("\ufeff", "").split())


def test_flowed() -> None:
    text = "One \nparagraph.\n> Quoted \n> text.\n>> Deeper \n> shallower\n-- \nsig \n stuffed\n"
    expected = "One paragraph.\n> Quoted text.\n>> Deeper \n> shallower\n-- \nsig stuffed\n"
    assert unflowed(text, delete_space=False) == expected
    assert unflowed("日本 \n語\n", delete_space=True) == "日本語\n"


def test_bodies_are_those_of_the_standard_library() -> None:
    message = EmailMessage(policy=email.policy.SMTP)
    message["Subject"] = "Grüße aus Köln, " + "sehr lang " * 20
    message.set_content("Grüße\n\nund – Text\n")
    message.add_alternative("<p>Grüße</p>", subtype="html")
    message.add_attachment(b"\0\1", maintype="application", subtype="x", filename="ä.bin")
    parsed = parse_part(bytes(message))
    assert parsed.words("subject") == " ".join(message["Subject"].split())
    alternative, attachment = enclosed_parts(parsed)
    texts = [decoded(transferred(p), p.parameter("charset")) for p in enclosed_parts(alternative)]
    assert [(text or "").strip() for text in texts] == ["Grüße\r\n\r\nund – Text", "<p>Grüße</p>"]
    assert transferred(attachment) == b"\0\1"


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    parsed = parse_part(data)
    for name in (*parsed.header, "date", "content-type"):
        parsed.words(name).encode()
        parsed.parameter("charset", of=name)
    assert parsed.date is not None
    enclosed_parts(parsed)
    transferred(parsed)
    decoded(data, data[:20].decode("latin-1"))
