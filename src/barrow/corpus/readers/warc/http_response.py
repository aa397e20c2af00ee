"""HTTP responses as web archives store them: status, header fields, and the body decoded.

A crawler may have stored the body as it came over the wire, or have taken off the transfer coding,
the content coding or both and left the header as it was; so a declared coding that is missing is
not an error.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import zstandard

from barrow.corpus.readers.warc.headers import header_end, header_fields
from barrow.errors import MissingExtra

_MAX_HEADER = 1 << 18
_MAX_CODINGS = 4
_MAX_WINDOW = 1 << 27
_STEP = 1 << 16
_STATUS = re.compile(rb"\s{0,9}+HTTP/\d(?:\.\d)?+[ \t]++(\d{3})(?!\d)")
_CHUNK = re.compile(rb"[ \t]*+([0-9A-Fa-f]{1,12})[ \t]*+(?:;[^\n]{0,4000}+)?\r?\n")
# Values of servers that mean no coding, or a character encoding.
_NO_CODING = frozenset(
    ["", "identity", "none", "utf-8", "utf8", "iso-8859-1", "binary", "7bit", "8bit", "text/html"]
)


class Response(NamedTuple):
    """Status, header fields by lower-case name, and the body as it is stored."""

    status: int
    fields: Mapping[bytes, bytes]
    body: bytes

    def text(self, name: bytes) -> str:
        """A header field as text; empty without one."""
        return self.fields.get(name, b"").decode("utf-8", "replace")


class BadBody(ValueError):
    """A body cannot be decoded; `reason` is a name to count by.

    ``unsupported-encoding``, ``undecodable`` or ``too-large``.
    """

    def __init__(self, cause: str, *, reason: str) -> None:
        self.cause = cause
        self.reason = reason
        super().__init__(cause)


def parse_response(data: bytes, start: int = 0, stop: int | None = None) -> Response | None:
    """The response in ``data[start:stop]``; None if it is not one."""
    stop = len(data) if stop is None else stop
    status = _STATUS.match(data, start, stop)
    if status is None:
        return None
    body = header_end(data, start, min(stop, start + _MAX_HEADER))
    if body < 0:
        if stop - start > _MAX_HEADER:
            return None
        body = stop
    return Response(int(status[1]), header_fields(data[status.end() : body]), data[body:stop])


def decoded_body(response: Response, *, max_bytes: int) -> bytes:
    """The body without its codings, of at most `max_bytes`. Raises `BadBody`."""
    body = response.body
    if b"chunked" in response.fields.get(b"transfer-encoding", b"").lower():
        body = unchunked(body)
    named = response.text(b"content-encoding").lower()
    codings = [coding.strip() for coding in named.split(",")]
    if len(codings) > _MAX_CODINGS:
        raise BadBody(f"{len(codings)} codings", reason="unsupported-encoding")
    for coding in reversed(codings):
        if coding not in _NO_CODING:
            body = _decoded(body, coding, max_bytes)
    if len(body) > max_bytes:
        raise BadBody(f"{len(body):,} bytes, more than {max_bytes:,}", reason="too-large")
    return body


def unchunked(body: bytes) -> bytes:
    """A chunked body joined. One that does not begin with a chunk is given as it is.

    What follows the last whole chunk is kept if it is a truncated chunk, else dropped.
    """
    chunks: list[bytes] = []
    at = 0
    while size := _CHUNK.match(body, at):
        length = int(size[1], 16)
        if not length:
            break
        chunks.append(body[size.end() : size.end() + length])
        at = size.end() + length
        at += 2 if body.startswith(b"\r\n", at) else body.startswith(b"\n", at)
    return b"".join(chunks) if at or size else body


def _decoded(body: bytes, coding: str, max_bytes: int) -> bytes:
    """The body without one coding."""
    try:
        if coding in ("gzip", "x-gzip"):
            # Without the magic number it is already decoded.
            body = _inflated(body, 31, max_bytes) if body.startswith(b"\x1f\x8b") else body
        elif coding in ("deflate", "x-deflate"):
            body = _deflated(body, max_bytes)
        elif coding == "br":
            body = _unbrotlied(body, max_bytes)
        elif coding == "zstd":
            zstd = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
            body = zstd.stream_reader(body, read_across_frames=True).read(max_bytes + 1)
        else:
            raise BadBody(f"content in {coding[:100]!r}", reason="unsupported-encoding")
    except (zlib.error, zstandard.ZstdError, MemoryError) as error:
        if not body.lstrip().startswith(b"<"):  # decoded already
            raise BadBody(f"does not decode as {coding} ({error})", reason="undecodable") from None
    if len(body) > max_bytes:
        raise BadBody(f"unpacks to more than {max_bytes:,} bytes", reason="too-large")
    return body


def _inflated(data: bytes, window_bits: int, max_bytes: int) -> bytes:
    """The decompressed data, also if truncated; at most `max_bytes` + 1."""
    parts: list[bytes] = []
    left, at = max_bytes + 1, 0
    codec = zlib.decompressobj(window_bits)
    while left > 0 and at < len(data):
        # Not all at once: the codec copies its remaining input after each of many members.
        step = data[at : at + _STEP]
        parts.append(codec.decompress(step, left))
        left -= len(parts[-1])
        at += len(step) - len(codec.unconsumed_tail) - len(codec.unused_data)
        if codec.eof:
            if not data.startswith(b"\x1f\x8b", at):  # padding
                break
            codec = zlib.decompressobj(window_bits)
    if data and not any(parts) and not codec.eof:
        raise zlib.error("it breaks off")
    return b"".join(parts)


def _deflated(data: bytes, max_bytes: int) -> bytes:
    """Deflate in zlib's format, as it should be, or raw, as some servers send it."""
    try:
        return _inflated(data, 15, max_bytes)
    except zlib.error:
        return _inflated(data, -15, max_bytes)


def _unbrotlied(data: bytes, max_bytes: int) -> bytes:
    try:
        import brotli
    except ImportError:
        raise MissingExtra("brotli", "web", "reading pages compressed with Brotli") from None
    codec = brotli.Decompressor()
    try:
        parts = [codec.process(data, output_buffer_limit=_STEP)]
        left = max_bytes - len(parts[0])
        while left >= 0 and not codec.is_finished() and not codec.can_accept_more_data():
            parts.append(codec.process(b"", output_buffer_limit=_STEP))
            left -= len(parts[-1])
    except brotli.error as error:
        raise zlib.error(str(error)) from None
    if not any(parts) and not codec.is_finished():
        raise zlib.error("it breaks off")
    return b"".join(parts)
