"""The compiled scans against those in Python, and both against expressions (PILE-9)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus import header_scan as module
from barrow.corpus.header_scan import field, header_end, whole_record

WARC = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"
# Bytes that mean something, so that chance makes headers of them.
PARTS = [b"WARC/1.0", b"Content-Length", b"content-length: 3", b"Name: v", b"\r\n", b"\n", b"\r"]
PARTS += [b":", b" ", b"\t", b"\x0b", b"3", b"x", b"abc\r\n\r\n", b"\0", b"9" * 18, b"\xff"]
headers = st.lists(st.sampled_from(PARTS), max_size=25).map(b"".join)


def test_the_compiled_part_is_there() -> None:
    """Everywhere the tests run there is a compiler; without this, they would test nothing."""
    assert field is not module.py_field
    assert header_end is not module.py_header_end
    assert whole_record is not module.py_whole_record


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
    assert field(header, b"name") == module.py_field(header, b"name") == value


@pytest.mark.parametrize(
    ("data", "place"),
    [(b"a\r\n\r\nb", 5), (b"a\n\nb", 3), (b"a\n\r\nb", 4), (b"a\n\r\r\n\r", -1), (b"", -1)],
)
def test_header_end(data: bytes, place: int) -> None:
    assert header_end(data, 0, len(data)) == module.py_header_end(data, 0, len(data)) == place


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
    assert module.py_whole_record(data, 0, 1 << 16) == expected


def test_a_header_is_looked_for_so_far() -> None:
    for scan in (whole_record, module.py_whole_record):
        assert scan(b"x" + WARC, 1, WARC.index(b"hello")) is not None
        assert scan(b"x" + WARC, 1, WARC.index(b"hello") - 1) is None


@given(headers, st.sampled_from([b"name", b"content-length", b"x"]))
def test_fields_of_anything(header: bytes, name: bytes) -> None:
    assert field(header, name) == module.py_field(header, name)


@given(headers, st.integers(0, 300), st.integers(0, 300))
def test_ends_of_anything(data: bytes, start: int, stop: int) -> None:
    found = re.compile(rb"\n\r?\n").search(data, start, stop)
    assert header_end(data, start, stop) == (found.end() if found else -1)
    assert module.py_header_end(data, start, stop) == header_end(data, start, stop)


@given(headers, st.integers(0, 100), st.sampled_from([0, 10, 100, 1 << 16]))
def test_records_of_anything(data: bytes, at: int, max_header: int) -> None:
    for held in (data, b"WARC/1.0\r\n" + data, WARC + data):
        expected = module.py_whole_record(held, at, max_header)
        assert whole_record(held, at, max_header) == expected


@pytest.mark.parametrize("scan", [field, header_end, whole_record])
@pytest.mark.parametrize(
    "arguments", [(), (b"x",), ("x", b"x"), (b"x", "x"), (b"x", -1, 3), (b"x", 1, 2, 3)]
)
def test_wrong_arguments(scan: object, arguments: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        scan(*arguments)  # type: ignore[operator]
