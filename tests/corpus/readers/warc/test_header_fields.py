"""Header fields, found one by one and read all at once (PILE-8)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.warc.headers import header_fields

HEADER = b"WARC/1.0\r\nA : b:c \r\nLong: one\r\n  two\r\na: second\r\nno field\r\nEmpty:\r\n"
PARTS = [
    b"A",
    b"a",
    b"B-c",
    b":",
    b": ",
    b" ",
    b"\t",
    b"\r\n",
    b"\n",
    b"\r",
    b"x",
    b"\x0b",
    b"\xe9",
]


def all_at_once(header: bytes) -> dict[bytes, bytes]:
    """By the definition: lines joined, every line that is a field read, the first one kept."""
    fields: dict[bytes, bytes] = {}
    for line in re.sub(rb"\r?\n[ \t]+", b" ", header).split(b"\n"):
        found = re.match(rb"([!-9;-~]+)[ \t]*:[ \t]*([^\r\n]*)", line)
        if found:
            fields.setdefault(found[1].lower(), found[2].rstrip())
    return fields


def test_fields() -> None:
    fields = header_fields(HEADER)
    assert fields == {b"a": b"b:c", b"long": b"one two", b"empty": b""}
    assert len(fields) == 3
    assert fields[b"long"] == fields.get(b"long") == b"one two"
    assert b"empty" in fields
    assert b"no field" not in fields
    assert "a" not in fields
    assert fields.get(b"none") is None
    assert fields.get(b"none", b"x") == b"x"
    with pytest.raises(KeyError):
        fields[b"none"]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map(b"".join))
def test_any_header(header: bytes) -> None:
    expected = all_at_once(header)
    assert header_fields(header) == expected
    for name in (b"a", b"b-c", b"x"):
        assert header_fields(header).get(name) == expected.get(name)
        assert (name in header_fields(header)) == (name in expected)
