"""Weeks of patents taken apart (PILE-6)."""

from __future__ import annotations

import io
import tracemalloc
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.readers.uspto.split import Piece, split_patents


def pieces(data: bytes, *, max_bytes: int = 1 << 20) -> list[Piece]:
    return list(split_patents(io.BytesIO(data), max_bytes=max_bytes))


@pytest.mark.parametrize(
    ("before", "mark", "form"),
    [
        (b"", b'<?xml version="1.0"?><a>', "xml"),
        (b"\xef\xbb\xbf \n", b'<?xml version="1.0"?><a>', "xml"),
        (b"", b"<us-patent-grant lang='EN'>", "xml"),
        (b"", b"<us-patent-application lang='EN'>", "xml"),
        (b"", b"<patent-application-publication>", "xml"),
        (b"", b"<!DOCTYPE PATDOC PUBLIC><PATDOC>", "sgml"),
        (b"", b"<PATDOC DTD='2.4'>", "sgml"),
        (b"", b"\nPATN\nWKU  1", "lines"),
        (b"HHHHHT   APS1    ISSUE - 760106", b"\nPATN\r\nWKU  1", "lines"),
        (b"", b"\nWKU  1", "lines"),
    ],
)
def test_forms(before: bytes, mark: bytes, form: str) -> None:
    documents = [mark + b" %d text\n" % number for number in range(3)]
    found = pieces(before + b"".join(documents).removeprefix(b"" if before else b"\n"))
    assert [piece.form for piece in found] == [form] * 3
    assert [piece.data.strip() for piece in found] == [one.strip() for one in documents]
    assert all(piece.is_whole for piece in found)


def test_a_tag_counts_only_at_the_beginning_of_a_line() -> None:
    data = b"PATN\nPAR  a PATN\n      PATN b\nPATN\nPAR  c\n"
    assert [piece.data for piece in pieces(data)] == [data[:29], data[30:]]


def test_what_is_no_patent() -> None:
    assert pieces(b"") == [Piece("unknown", b"", is_whole=False)]
    assert pieces(b"<html>") == [Piece("unknown", b"<html>", is_whole=False)]
    [piece] = pieces(bytes(100_000))
    assert (piece.form, piece.is_whole, len(piece.data)) == ("unknown", False, 4095)


def test_one_too_large_is_left_out() -> None:
    small = [b"<?xml ?><a>%d</a>" % number for number in range(4)]
    large = b"<?xml ?><b>" + b"x" * 5_000_000
    found = pieces(small[0] + small[1] + large + small[2] + large + small[3] + large)
    assert [piece.is_whole for piece in found] == [True, True, False, True, False, True, False]
    assert [piece.data for piece in found if piece.is_whole] == small
    assert found[2].data == large[:4096]


def test_the_limit_is_exact() -> None:
    data = b"<?xml ?>ab<?xml ?>abc<?xml ?>ab"
    assert [piece.is_whole for piece in pieces(data, max_bytes=10)] == [True, False, True]
    assert [piece.is_whole for piece in pieces(data[10:21], max_bytes=10)] == [False]


class Endless:
    """A patent of many gigabytes, and one after it."""

    left = 300

    def read(self, size: int) -> bytes:
        self.left -= 1
        if self.left > 0:
            return b"<?xml ?>" * (self.left == 299) + b"y" * size
        return b"<?xml ?>z" if self.left == 0 else b""


def test_memory_does_not_grow_with_the_file() -> None:
    tracemalloc.start()
    found = list(split_patents(cast(BinaryIO, Endless()), max_bytes=1 << 22))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [piece.is_whole for piece in found] == [False, True]
    assert peak < 1 << 25


class Dripping(io.BytesIO):
    """A file that gives few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 3, 3))


@given(st.lists(st.sampled_from([b"<?xml ", b"<?xm", b"<", b"abc", b"\n"]), max_size=40))
def test_any_reading_gives_the_same(parts: list[bytes]) -> None:
    data = b"".join([b"<?xml ", *parts])
    expected = [b"<?xml " + rest for rest in data.split(b"<?xml ")[1:]]
    assert [piece.data for piece in pieces(data)] == expected
    # The head is looked at first, so that small reads matter only behind it.
    padded = b"<?xml " + b"-" * 70_000 + data
    slow = list(split_patents(Dripping(padded), max_bytes=1 << 20))
    assert [piece.data for piece in slow][1:] == expected
    skipped = list(split_patents(Dripping(padded), max_bytes=60_000))
    assert [piece.data for piece in skipped][1:] == expected
