"""Records, headers and fields in bytes of any kind (PILE-8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.warc.headers import field, header_end, whole_record

WARC = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"
# Bytes that mean something, so that chance makes headers of them.
PARTS = [b"WARC/1.0", b"Content-Length", b"content-length: 3", b"Name: v", b"\r\n", b"\n", b"\r"]
PARTS += [b":", b" ", b"\t", b"\x0b", b"3", b"x", b"abc\r\n\r\n", b"\0", b"9" * 18, b"\xff"]
headers = st.lists(st.sampled_from(PARTS), max_size=25).map(b"".join)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (b"Name: v", b"v"),
        (b"First\r\nNAME:\t v : w \x0b\r\nname: second", b"v : w"),
        (b"Names: a\nName:b", b"b"),
        (b"name :\t\r\n", b""),
        (b"Name: a\rb\r\n", b"a"),
        (b" Name: v", None),
        (b"Name v", None),
        (b"", None),
        (b"Name: v\r\n w", NotImplemented),
        (b"Name\r\n : v", NotImplemented),
        (b"Name", None),
        (b"Name ", None),
    ],
)
def test_field(header: bytes, value: object) -> None:
    assert field(header, b"name") == value


@pytest.mark.parametrize(
    ("data", "place"),
    [(b"a\r\n\r\nb", 5), (b"a\n\nb", 3), (b"a\n\r\nb", 4), (b"a\n\r\r\n\r", -1), (b"", -1)],
)
def test_header_end(data: bytes, place: int) -> None:
    assert header_end(data, 0, len(data)) == place


@pytest.mark.parametrize(
    ("data", "is_whole"),
    [
        (WARC, True),
        (WARC + WARC, True),
        (WARC + b"WARC", False),
        (WARC[:-1], False),
        (WARC + b"\r\n", False),
        (WARC.replace(b" 5", b" 6"), False),
        (WARC.replace(b" 5", b" -5"), False),
        (WARC.replace(b" 5", b" " + b"9" * 18), False),
        (WARC.replace(b" 5", b" " + b"9" * 30), False),
        (WARC.replace(b" 5", b" 5\r\n "), False),
        (WARC.replace(b"Length", b"Long"), False),
        (WARC[1:], False),
    ],
)
def test_whole_record(data: bytes, is_whole: bool) -> None:
    start = data.find(b"hello")
    expected = (start, start + 5) if is_whole else None
    assert whole_record(data, 0, 1 << 16) == expected


def test_a_header_is_looked_for_so_far() -> None:
    assert whole_record(b"x" + WARC, 1, WARC.index(b"hello")) is not None
    assert whole_record(b"x" + WARC, 1, WARC.index(b"hello") - 1) is None


@given(headers, st.sampled_from([b"name", b"content-length", b"x"]))
def test_fields_of_anything(header: bytes, name: bytes) -> None:
    """Against a reading of all lines, one by one."""
    lines = header.replace(b"\r\n", b"\n").split(b"\n")
    if any(b"\r" in line for line in lines):
        return  # not a line end to everybody
    expected: object = None
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        key, colon, value = line.partition(b":")
        if key.rstrip(b" \t").lower() == name and (colon or after is not None):
            is_folded = not colon or (after or b"").startswith((b" ", b"\t"))
            expected = NotImplemented if is_folded else value.lstrip(b" \t").rstrip()
            break
    assert field(header, name) == expected


@given(headers, st.integers(0, 300), st.integers(0, 300))
def test_ends_of_anything(data: bytes, start: int, stop: int) -> None:
    ends = [
        k + len(mark)
        for mark in (b"\n\n", b"\n\r\n")
        for k in range(start, min(stop, len(data)) - len(mark) + 1)
        if data[k:].startswith(mark)
    ]
    assert header_end(data, start, stop) == min(ends, default=-1)


@given(headers, st.integers(0, 100), st.sampled_from([0, 10, 100, 1 << 16]))
def test_records_of_anything(data: bytes, at: int, max_header: int) -> None:
    for held in (data, b"WARC/1.0\r\n" + data, WARC + data):
        found = whole_record(held, at, max_header)
        if found is not None:
            start, stop = found
            assert held[at : at + 5] == b"WARC/"
            assert at < start <= stop <= len(held)
            assert held[stop : stop + 4] == b"\r\n\r\n"
