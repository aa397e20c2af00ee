"""Rows of an XML table: the same as expat says, whatever the file (PILE-6)."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.text.xml.events import BadXml, Start, xml_events
from barrow.corpus.text.xml.rows import row_attributes

HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n'


def outcome(rows: Iterator[dict[str, str]]) -> tuple[list[dict[str, str]], bool]:
    """The rows, and whether the file was bad after them."""
    found: list[dict[str, str]] = []
    try:
        for row in rows:
            found.append(row)  # noqa: PERF402 - those before an error count
    except BadXml:
        return found, True
    return found, False


def expat_rows(data: bytes) -> Iterator[dict[str, str]]:
    for event in xml_events(io.BytesIO(data)):
        if isinstance(event, Start) and event.name == "row":
            yield event.attributes


def assert_as_expat(data: bytes) -> None:
    assert outcome(row_attributes(io.BytesIO(data))) == outcome(expat_rows(data))


def test_references_are_resolved_once() -> None:
    data = (
        HEAD + b'  <row Id="1" Body="&lt;p&gt;a &amp;lt; b&#xA;&quot;c&quot;&#xD;&#x9;&apos;" />\n'
    )
    rows = list(row_attributes(io.BytesIO(data + b"</posts>\n")))
    assert rows == [{"Id": "1", "Body": '<p>a &lt; b\n"c"\r\t\''}]


@pytest.mark.parametrize(
    "line",
    [
        b'  <row Id="1" Body="plain" />',
        b'<row Id="1"/>',
        b'\t<row Id="1" Body="a\tb" />',
        b'  <row Id="1" Body="&#65;&#x1F600;" />',
        b"  <row Id='1' Body='single \"quotes\"' />",
        b'  <row   Id = "1"\tBody="spaced" ></row>',
        b'  <row Id="1" Id="2" />',
        b'  <row Id="1" Body="a < b" />',
        b'  <row Id="1" Body="a & b" />',
        b'  <row Id="1" Body="&nbsp;" />',
        b'  <row Id="1" Body="&#0;" />',
        b'  <row Id="1" Body="\x01" />',
        b'  <row Id="1" Body="\xff\xfe" />',
        "  <row Id='1' Body='\uffff' />".encode(),
        b'  <row Id="1" Body="two\nlines" />',
        b'  <row Id="1" /> <row Id="2" />',
        b'  <row Id="1"><row Id="2" /></row>',
        b'  <!-- <row Id="1" /> -->',
        b'  <![CDATA[<row Id="1" />]]>',
        b'  <other Id="1" />',
        b"  text",
        b"",
    ],
)
def test_any_line_is_as_expat_has_it(line: bytes) -> None:
    before, after = b'  <row Id="7" Body="before" />\n', b'\n  <row Id="8" Body="after" />\n'
    assert_as_expat(HEAD + before + line + after + b"</posts>\n")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"<posts>\n",
        b"\xef\xbb\xbf" + HEAD,
        b'<?xml version="1.0" encoding="iso-8859-1"?>\n<posts>\n',
        b'<?xml version="1.0" encoding="utf-8"?><posts>\n',
        b'<?xml version="1.0" encoding="utf-8"?>\n<posts a="b">\n',
        b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE p [<!ENTITY a "b">]>\n<posts>\n',
    ],
)
def test_any_beginning_is_as_expat_has_it(head: bytes) -> None:
    assert_as_expat(head + b'  <row Id="1" Body="caf\xc3\xa9" />\n</posts>\n')


def test_what_follows_the_table_is_looked_at() -> None:
    row = b'  <row Id="1" />\n'
    for end in (b"</posts>", b"</posts>\n\n", b"</posts>\nmore", b"</post>\n", b"", b"</posts"):
        assert_as_expat(HEAD + row + end)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_is_found_where_expat_finds_it(data: st.DataObject) -> None:
    whole = HEAD + b'  <row Id="1" Body="a &lt; b &#xA;" />\n' * 3 + b"</posts>\n"
    at = data.draw(st.integers(0, len(whole)))
    gone = data.draw(st.integers(0, 5))
    new = data.draw(st.sampled_from([b"", b'"', b"<", b"&", b"\n", b"\x00", b"\xc3", b" x"]))
    damaged = whole[:at] + new + whole[at + gone :]
    ours, theirs = outcome(row_attributes(io.BytesIO(damaged))), outcome(expat_rows(damaged))
    assert ours == theirs


def test_a_line_of_many_megabytes_is_one_row() -> None:
    body = "x" * (1 << 22)
    data = HEAD + f'  <row Id="1" Body="{body}" />\n</posts>\n'.encode()
    assert [len(row["Body"]) for row in row_attributes(io.BytesIO(data))] == [1 << 22]
