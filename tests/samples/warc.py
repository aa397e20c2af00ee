"""A crawl: WARC files of requests and responses, every other one packed record by record."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

import zstandard
from tests.samples.batches import batches
from tests.samples.packing import gzipped
from tests.samples.pieces import Article
from tests.samples.web_page import SITE, address_of, web_page

_PAGES_A_FILE = 60
_ABOUT = b"software: barrow pocket\r\nformat: WARC File Format 1.0\r\n"
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>There is nothing here.</p>"


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Pages as servers send them: some packed, some in chunks, and some that are not there."""
    for file, batch in batches(articles, _PAGES_A_FILE):
        records = [_record("warcinfo", f"{SITE}/crawl/{file}", _ABOUT, "application/warc-fields")]
        for number, article in batch:
            url = address_of(number)
            request = f"GET /pages/{number} HTTP/1.1\r\nHost: pocket.example.org\r\n\r\n".encode()
            records.append(_record("request", url, request, "application/http; msgtype=request"))
            records.append(_response(url, _http(web_page(article, number).encode(), number)))
            if number % 20 == 0:
                records.append(_response(f"{url}/old", _MISSING))
        # Not gzip: its reader is an extra.
        if file % 2:
            yield f"crawl-{file:03}.warc", b"".join(records)
        else:
            packed = b"".join(map(zstandard.compress, records))
            yield f"crawl-{file:03}.warc.zst", packed


def _http(body: bytes, number: int) -> bytes:
    head = ["HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", "Server: pocket"]
    if number % 3 == 1:
        body = gzipped(body)
        head.append("Content-Encoding: gzip")
    if number % 3 == 2:
        half = len(body) // 2
        chunks = (body[:half], body[half:], b"")
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
        head.append("Transfer-Encoding: chunked")
    return "\r\n".join((*head, "", "")).encode() + body


def _response(url: str, content: bytes) -> bytes:
    return _record("response", url, content, "application/http; msgtype=response")


def _record(kind: str, url: str, content: bytes, content_type: str) -> bytes:
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {url}")
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{name}>\r\n"
        f"WARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"
