"""Cutting XML without parsing it."""

from __future__ import annotations

import pytest

from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.parts import attributes_of, inner, plain_names, repaired, without


def test_without() -> None:
    data = b"<a><ref x='1'>1<ref>2</ref>3</ref><ref-list>4</ref-list><ref/>5<ref>6</ref></a>"
    assert without(data, "ref") == b"<a><ref-list>4</ref-list>5</a>"
    assert without(b"<a><ref>never closed</a>", "ref") == b"<a>"
    assert without(data, "absent") is data


def test_inner() -> None:
    text = '<AB>0</AB><A x=">1</A>"/><A>2</A>'
    assert inner(text, "AB") == "0"
    assert inner("<A x='1'>2</A><A>3</A>", "A") == "2"
    assert inner("<A />", "A") == ""
    assert inner("<A>", "A") is None
    assert inner("<AA>1</AA>", "A") is None


def test_attributes() -> None:
    assert attributes_of(""" a="1" xml:lang = 'de' b='"' c=d""") == {
        "a": "1",
        "xml:lang": "de",
        "b": '"',
    }


def test_prefixes() -> None:
    data = b'<x xmlns:o="1" xmlns:mml="2"><o:td>1</o:td><mml:mi/></x>'
    assert plain_names(data) == b'<x xmlns:o="1" xmlns:mml="2"><td>1</td><mml:mi/></x>'


def test_repaired() -> None:
    assert repaired("<a>&nbsp;b & c</a>".encode("latin-1")) == "<a>\xa0b &amp; c</a>".encode()
    with pytest.raises(BadXml):
        repaired(b"\xff\xfe\x00\xd8")
