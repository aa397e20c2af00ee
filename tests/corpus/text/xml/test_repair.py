from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.text.xml.events import BadXml, Text, xml_events
from barrow.corpus.text.xml.repair import declared_encoding, readable_xml


def text_of(xml: str) -> str:
    return "".join(e.data for e in xml_events(readable_xml(xml)) if isinstance(e, Text))


def test_faults_that_are_repaired() -> None:
    declaration = ' <?xml version="1.0" encoding="utf-16"?>'
    body = "<a>caf&eacute; Q&A & R&nbsp;&lt;&#233;&bogus;\x07</a>"
    assert text_of(declaration + body) == "café Q&A & R\xa0<é&bogus;"
    assert text_of("<a>&#0;&#xD800;&#x110000;&#9;</a>") == "&#0;&#xD800;&#x110000;\t"


def test_declared_entities_are_still_refused() -> None:
    with pytest.raises(BadXml, match="entities"):
        text_of('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>')


def test_encodings() -> None:
    assert declared_encoding(b'<?xml version="1.0" encoding="ISO-8859-2"?>') == "iso8859-2"
    assert declared_encoding(b"<?xml version='1.0' encoding='Windows 1251'?>") == "cp1251"
    assert declared_encoding(b'<?xml version="1.0" encoding="punycode"?>') is None
    assert declared_encoding(b"<a/>") is None


@given(st.text(max_size=60))
def test_any_text_is_events_or_bad(text: str) -> None:
    with contextlib.suppress(BadXml):
        text_of(f"<a>{text}</a>")
