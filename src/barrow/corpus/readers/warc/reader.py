"""Web archives: WARC files (0.18, 1.0, 1.1) and ARC files (1, 2), plain or compressed.

Each HTML page or plain text that was answered with a status of success is a document, and so are
``resource`` records of these types and ``conversion`` records of plain text (WET files). Of a page
the main text is kept. `meta` has ``url``, ``date`` (of the capture), ``member`` (the record's id,
or where it begins), ``content_type``, ``encoding``, ``title`` and ``language`` where the page or
the crawl says it, ``truncated`` where the crawler did not fetch all of it.

Records that are not pages or have no text are rejects; so are ``revisit`` records, whose page is
elsewhere. Records about the crawl itself (``warcinfo``, ``request``, ``metadata``, name look-ups)
are passed over. A broken record is rejected; reading continues at the next one.

Licence: pages belong to their authors; terms of a crawl, such as Common Crawl's, grant no rights in
them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from barrow.archive import Document
from barrow.corpus.input.open_raw import open_raw
from barrow.corpus.language.codes import language_of_code, language_of_tag
from barrow.corpus.readers.reader import Item, Reader, Reject, Span, excerpt
from barrow.corpus.readers.warc.http_response import (
    BadBody,
    decoded_body,
    parse_response,
    unchunked,
)
from barrow.corpus.readers.warc.records import Record, RecordSpan, record_spans, warc_records
from barrow.corpus.text.html.page import Extract, Page, decode_page, page_text
from barrow.corpus.text.whitespace import is_binary, tidy

_ABOUT_THE_CRAWL = frozenset([b"warcinfo", b"request", b"metadata"])
_NO_PAGES = (b"dns:", b"whois:", b"metadata:")  # name look-ups; wget's own log
_PAGES = frozenset(["text/html", "application/xhtml+xml"])
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]++/[a-z0-9!#$&^_.+-]++")
_LOOKS_LIKE_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--[^>]*+-->\s*+)*+<(?:!doctype html|html)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
_DIGESTS = frozenset(["md5", "sha1", "sha256", "sha512"])


class _Payload(NamedTuple):
    """The content of a record: its type and language as declared, and its bytes."""

    content_type: str
    language: str
    body: bytes


@dataclass(frozen=True)
class Warc(Reader):
    """Web archives (WARC, WET, ARC; Common Crawl): the main text of each page.

    A record, and a page once decompressed, may have `max_bytes`. With `check_digests`, a page must
    have the digest that its record gives, if it gives one of a kind we know. `extract` replaces our
    extraction of the main text.

    Reasons: those of `open_raw`, ``broken-record``, ``truncated``, ``too-large``, ``revisit``,
    ``unknown-record``, ``bad-http``, ``http-error``, ``not-html``, ``unsupported-encoding``,
    ``undecodable``, ``bad-digest``, ``empty``.
    """

    max_bytes: int = 1 << 25
    check_digests: bool = False
    extract: Extract | None = None

    extractor = "warc/2"
    patterns = tuple(
        f"**/*.{kind}{ending}"
        for kind in ("warc", "wet", "arc")
        for ending in ("", ".gz", ".zst", ".lz4", ".bz2", ".xz")
    )

    def read(self, path: Path) -> Iterator[Item]:
        return self._read(path)

    def spans(self, path: Path, target: int) -> list[Span]:
        """Whole records."""
        file = open_raw(path)
        if isinstance(file, Reject):
            return []
        with file:
            try:
                return list(record_spans(file, target, max_record=self.max_bytes))
            except OSError:  # `read` reports it
                return []

    def read_span(self, path: Path, span: Span) -> Iterator[Item]:
        return self._read(path, RecordSpan(*span))

    def _read(self, path: Path, span: RecordSpan | None = None) -> Iterator[Item]:
        file = open_raw(path)
        if isinstance(file, Reject):
            yield file
            return
        with file:
            try:
                for record in warc_records(file, max_record=self.max_bytes, span=span):
                    item = _item(record, self)
                    if item is not None:
                        yield item
            except OSError as error:
                yield Reject("unreadable", error.strerror or str(error))


def _item(record: Record, reader: Warc) -> Item | None:
    """The document of a record, or a reject; None for a record about the crawl."""
    if record.problem:
        return _reject(record, record.problem, record.cause)
    kind = record.type
    if kind in _ABOUT_THE_CRAWL:
        return None
    if record.fields.get(b"warc-target-uri", b"").lstrip(b"<").startswith(_NO_PAGES):
        return None
    if kind == b"revisit":
        return _reject(record, "revisit", "the page did not change; it is in another record")
    if kind == b"continuation" or b"warc-segment-number" in record.fields:
        return _reject(record, "truncated", "a segment of a record")
    if kind not in (b"response", b"resource", b"conversion"):
        return _reject(record, "unknown-record", "a record of unknown type")
    try:
        payload = _payload(record, reader)
    except BadBody as error:
        return _reject(record, error.reason, error.cause)
    return payload if isinstance(payload, Reject) else _document(record, payload, reader.extract)


def _payload(record: Record, reader: Warc) -> _Payload | Reject:
    """The content of a record, if it may be a page. Raises `BadBody`."""
    data, start, stop = record.data, record.start, record.stop
    if start == stop:
        return _reject(record, "empty", "a record without content")
    content_type, language = record.text(b"content-type"), ""
    is_http = content_type.lower().startswith("application/http")
    if not is_http and not data.startswith(b"HTTP/", start, stop):
        stored = body = record.content
    else:
        response = parse_response(data, start, stop)
        if response is None:
            return _reject(record, "bad-http", "not an HTTP response")
        if not 200 <= response.status < 300:
            return _reject(record, "http-error", f"status {response.status}")
        content_type = response.text(b"content-type")
        language = response.text(b"content-language")
        stored = body = response.body
        if not _may_be_page(_media_type(content_type, record)):
            return _reject(record, "not-html", f"content of type {content_type[:100]!r}")
        body = decoded_body(response, max_bytes=reader.max_bytes)
    if reader.check_digests and not _has_digest(record, stored):
        return _reject(record, "bad-digest", "the content does not match its digest")
    return _Payload(content_type, language, body)


def _may_be_page(media_type: str) -> bool:
    return media_type in _PAGES or media_type in ("", "text/plain", "text/xml", "application/xml")


def _media_type(content_type: str, record: Record) -> str:
    """The type declared by the server, else the one the crawler found."""
    for named in (content_type, record.text(b"warc-identified-payload-type")):
        if found := _TYPE.match(named.strip().lower()):
            return found[0]
    return ""


def _document(record: Record, payload: _Payload, extract: Extract | None) -> Item:
    """The document of a page or text."""
    body = payload.body
    media_type = _media_type(payload.content_type, record)
    is_page = media_type in _PAGES or (
        _may_be_page(media_type) and _LOOKS_LIKE_PAGE.match(body[:4096]) is not None
    )
    if not is_page and media_type != "text/plain":
        cause = f"content of type {payload.content_type[:100]!r}"
        return _reject(record, "not-html", cause, body)
    if not body.strip():
        return _reject(record, "empty", "a page without content")
    found = decode_page(body, payload.content_type)
    if found is None or is_binary(found[0]):
        return _reject(record, "undecodable", "not text in any encoding", body)
    raw, encoding = found
    url = _one_line(record.text(b"warc-target-uri").strip("<> "))
    page = page_text(raw, url=url, extract=extract) if is_page else Page(tidy(raw), "", None)
    if not page.text.strip():
        return _reject(record, "empty", page.cause or "a page without text", body)
    values = {
        "url": url,
        "date": _date(record.text(b"warc-date")),
        "member": _member(record),
        "content_type": media_type or "text/html",
        "encoding": encoding,
        "title": _one_line(page.title),
        "language": page.language or _language(payload, record),
        "truncated": _one_line(record.text(b"warc-truncated")),
    }
    return Document(page.text, {key: value for key, value in values.items() if value})


def _language(payload: _Payload, record: Record) -> str:
    """A language that the server or the crawler names, if it is one language only."""
    if payload.language and "," not in payload.language:
        return language_of_tag(payload.language)
    found = record.text(b"warc-identified-content-language").partition(",")[0]  # the first is main
    return language_of_code(found) or language_of_tag(found)


def _date(value: str) -> str:
    """The date of capture in ISO 8601; empty if invalid. ClueWeb09 has months of 294 days."""
    try:
        return value if _DATE.fullmatch(value) and datetime.fromisoformat(value) else ""
    except ValueError:
        return ""


def _member(record: Record) -> str:
    return _one_line(record.text(b"warc-record-id").strip("<> ")) or f"byte {record.offset}"


def _one_line(text: str) -> str:
    return " ".join(tidy(text).split())


def _has_digest(record: Record, stored: bytes) -> bool:
    """Whether the payload matches its digest, with or without transfer coding."""
    name, _, digest = record.text(b"warc-payload-digest").partition(":")
    name = name.strip().lower().replace("-", "")
    if name not in _DIGESTS:
        return True
    candidates = {digest.strip().lower(), digest.strip().lower().rstrip("=")}
    for data in (stored, unchunked(stored)):
        found = hashlib.new(name, data, usedforsecurity=False).digest()
        if {found.hex(), base64.b32encode(found).decode().lower().rstrip("=")} & candidates:
            return True
    return False


def _reject(record: Record, reason: str, cause: str, shown: bytes | None = None) -> Reject:
    data = record.content if shown is None else shown
    return Reject(reason, cause, _member(record), excerpt(data))
