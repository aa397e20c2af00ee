from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.text.xml.events import BadXml, End, Start, Text, xml_events


def events(data: bytes) -> list:
    return list(xml_events(io.BytesIO(data)))


def test_events() -> None:
    data = '\ufeff<?xml version="1.0"?><a x="1&amp;2"><b/>t&#233;xt<![CDATA[<]]></a>'.encode()
    assert events(data) == [
        Start("a", {"x": "1&2"}),
        Start("b", {}),
        End("b"),
        Text("téxt<"),
        End("a"),
    ]


def test_what_precedes_the_fault_is_read() -> None:
    seen = []
    with pytest.raises(BadXml, match="mismatched tag"):
        for event in xml_events(io.BytesIO(b"<a><b></b></c>")):
            seen.append(event)  # noqa: PERF402 - it raises half-way
    assert seen[0] == Start("a", {})


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p;',
    ],
)
def test_entities_are_refused(declaration: str) -> None:
    with pytest.raises(BadXml, match="entities|entity"):
        events(f"<!DOCTYPE a [{declaration}]><a>&lol2;&x;</a>".encode())


def test_a_doctype_alone_is_fine() -> None:
    assert events(b'<!DOCTYPE a SYSTEM "a.dtd"><a/>') == [Start("a", {}), End("a")]


def test_depth_is_bounded() -> None:
    with pytest.raises(BadXml, match="deep"):
        events(b"<a>" * 100_000)


def test_a_tag_without_end_is_bounded() -> None:
    endless = io.BytesIO(b'<a x="' + b"y" * 3_000_000)
    with pytest.raises(BadXml, match="tag longer"):
        list(xml_events(endless, max_token=1_000_000))


@pytest.mark.parametrize("encoding", ["no-such", "utf-7", "shift_jis", "hex", "idna", "rot13"])
def test_an_encoding_that_expat_does_not_know_is_bad(encoding: str) -> None:
    with pytest.raises(BadXml):
        events(f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode())


@given(st.binary(max_size=200))
def test_any_bytes_are_events_or_bad(data: bytes) -> None:
    with contextlib.suppress(BadXml):
        events(b"<a>" + data)
