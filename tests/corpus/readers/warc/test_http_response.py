"""HTTP responses as archives store them (PILE-8)."""

from __future__ import annotations

import contextlib
import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.readers.warc.http_response import (
    BadBody,
    Response,
    decoded_body,
    parse_response,
    unchunked,
)

PAGE = b"<p>" + b"words of a page, " * 1000 + b"</p>"


def bare_deflate(data: bytes) -> bytes:
    codec = zlib.compressobj(wbits=-15)
    return codec.compress(data) + codec.flush()


def body(data: bytes, encoding: str, *, max_bytes: int = 1 << 20, transfer: str = "") -> bytes:
    fields = {b"content-encoding": encoding.encode(), b"transfer-encoding": transfer.encode()}
    return decoded_body(Response(200, fields, data), max_bytes=max_bytes)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_status_fields_and_body(end: bytes) -> None:
    lines = [
        b"HTTP/1.1 200 OK",
        b"Content-Type:  text/html ",
        b"X: a",
        b"\tb",
        b"X: c",
        b"",
        b"1\n2",
    ]
    found = parse_response(end.join(lines))
    assert found == Response(200, {b"content-type": b"text/html", b"x": b"a b"}, b"1\n2")
    assert found.text(b"content-type") == "text/html"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"HTTP/2 404\r\n\r\n", 404),
        (b"HTTP/1.0 200\r\nA: b", 200),
        (b"\r\nHTTP/1.1  301 Moved\r\n\r\n", 301),
        (b"HTTP/1.1 2000 OK\r\n\r\n", None),
        (b"<html>", None),
        (b"", None),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, None),
    ],
)
def test_status_lines(raw: bytes, status: int | None) -> None:
    found = parse_response(raw)
    assert (found and found.status) == status
    assert found is None or found.body == b""


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("", PAGE),
        ("identity", PAGE),
        ("UTF-8", PAGE),
        ("gzip", gzip.compress(PAGE)),
        ("x-gzip", gzip.compress(PAGE[:500]) + gzip.compress(PAGE[500:])),
        ("gzip", gzip.compress(PAGE) + bytes(100)),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", bare_deflate(PAGE)),
        ("br", brotli.compress(PAGE)),
        ("zstd", zstandard.compress(PAGE)),
        ("deflate, GZIP", gzip.compress(zlib.compress(PAGE))),
        *[(name, PAGE) for name in ("gzip", "deflate", "br", "zstd")],  # taken off already
    ],
)
def test_codings(encoding: str, data: bytes) -> None:
    assert body(data, encoding) == PAGE


def test_many_members_take_linear_time() -> None:
    member = gzip.compress(b"x")
    assert len(body(member * 50, "gzip")) == 50
    check_linear(lambda n: body(member * n, "gzip"), 20_000)  # many steps


def test_what_precedes_the_cut_of_a_body_is_kept() -> None:
    assert PAGE.startswith(body(gzip.compress(PAGE)[:-20], "gzip"))
    assert len(body(gzip.compress(PAGE)[:-20], "gzip")) > 100


@pytest.mark.parametrize(
    ("encoding", "data", "reason"),
    [
        ("compress", b"x", "unsupported-encoding"),
        ("gzip,gzip,gzip,gzip,gzip", b"x", "unsupported-encoding"),
        ("gzip", b"\x1f\x8bnothing of the sort", "undecodable"),
        ("deflate", b"\xff\xff\xff", "undecodable"),
        ("br", b"\xff\xff\xff", "undecodable"),
        ("br", brotli.compress(PAGE)[:3], "undecodable"),
        ("zstd", b"\xff\xff\xff\xff\xff", "undecodable"),
        ("", bytes(2 << 20), "too-large"),
        ("gzip", gzip.compress(bytes(1 << 26)), "too-large"),
        ("deflate", zlib.compress(bytes(1 << 26)), "too-large"),
        ("br", brotli.compress(bytes(1 << 26), quality=1), "too-large"),
        ("zstd", zstandard.compress(bytes(1 << 26)), "too-large"),
    ],
)
def test_bodies_that_cannot_be_had(encoding: str, data: bytes, reason: str) -> None:
    with pytest.raises(BadBody) as caught:
        body(data, encoding)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"3\r\nabc\r\n2;name=value\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"3\nabc\n 2 \nde\n0\n\n", b"abcde"),
        (b"A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", b"0123456789"),
        (b"0\r\n\r\n", b""),
        (b"<p>never was chunked</p>", b"<p>never was chunked</p>"),
        (b"3\r\nabc\r\nff\r\ncut", b"abccut"),
        (b"3\r\nabc\r\nno chunk", b"abc"),
        (b"fffffffffffffffff\r\nabc", b"fffffffffffffffff\r\nabc"),
        (b"", b""),
    ],
)
def test_chunks(raw: bytes, expected: bytes) -> None:
    assert unchunked(raw) == expected
    assert body(raw, "", transfer="Chunked") == expected


def test_chunked_and_compressed() -> None:
    data = gzip.compress(PAGE)
    chunked = b"".join(
        b"%x\r\n%b\r\n" % (len(data[k : k + 7]), data[k : k + 7]) for k in range(0, len(data), 7)
    )
    assert body(chunked + b"0\r\n\r\n", "gzip", transfer="chunked") == PAGE


@given(st.binary(), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_any_bytes(data: bytes, encoding: str) -> None:
    with contextlib.suppress(BadBody):
        assert isinstance(body(data, encoding, transfer="chunked"), bytes)
