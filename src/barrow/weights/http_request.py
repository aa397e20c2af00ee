"""One HTTP request, and what its answer means for a download."""

from __future__ import annotations

import http.client
import re
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from barrow.errors import FetchFailed, NotFound
from barrow.weights.fetch_settings import FetchSettings

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)


class Interrupted(Exception):
    """The answer did not come, or not to its end; trying again may help."""


class RangeRefused(Interrupted):
    """The server has no bytes from there on: what came before is of another file."""


@dataclass(frozen=True)
class Answer:
    """A body to read, where it begins in the whole, and what identifies the whole.

    `validator` is a strong ETag or a date of change: bytes of two answers with the same one may be
    put together. `sha256` is the digest that a Hugging Face hub names for a large file.
    """

    body: Any
    start: int
    total: int | None
    validator: str | None
    sha256: str | None


def request(url: str, *, start: int, validator: str | None, settings: FetchSettings) -> Answer:
    """Ask for a URL from byte `start` on; the answer may begin at 0 all the same."""
    check_url(url)
    ask = urllib.request.Request(url)  # noqa: S310 - the scheme was checked
    ask.add_header("User-Agent", "barrow")
    ask.add_header("Accept-Encoding", "identity")  # a range of a compressed body has no meaning
    for name, value in settings.headers:
        ask.add_header(name, value)
    # The parts of a host's name must be equal: a longer host that begins like the hub is another.
    if settings.token and urlsplit(url)[:2] == urlsplit(settings.hub)[:2]:
        ask.add_unredirected_header("Authorization", f"Bearer {settings.token}")
    if start and validator:
        ask.add_header("Range", f"bytes={start}-")
        ask.add_header("If-Range", validator)
    redirects = _Redirects(ask.unredirected_hdrs.get("Authorization"))
    try:
        response = urllib.request.build_opener(redirects).open(ask, timeout=settings.timeout)
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(url, error) from None
    except urllib.error.URLError as error:
        raise _unreachable(url, error.reason) from None
    except FetchFailed:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise Interrupted(f"{url}: {error or type(error).__name__}") from None
    return _answer(url, response, asked=start, linked=redirects.linked)


def check_url(url: str) -> None:
    """Only http and https, and a host."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected an http or https URL, got {url!r}")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects; keeps the digest a hub names on the way; never from https to http.

    The token goes along to the same host only: files usually lie on another one.
    """

    def __init__(self, authorization: str | None) -> None:
        self._authorization = authorization
        self.linked: str | None = None

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        self.linked = _digest(headers) or self.linked
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after not in ("http", "https") or (before == "https" and after != "https"):
            raise FetchFailed(f"{req.full_url} leads from {before} to {newurl}: refused")
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        same = urlsplit(req.full_url)[:2] == urlsplit(newurl)[:2]
        if new is not None and same and self._authorization:
            new.add_unredirected_header("Authorization", self._authorization)
        return new


def _answer(url: str, response: Any, *, asked: int, linked: str | None) -> Answer:
    headers = response.headers
    etag = headers.get("ETag")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")
    length = headers.get("Content-Length", "")
    total = int(length) if length.isdigit() else None
    start = 0
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", ""))
        if found is None or int(found[1]) != asked:
            response.close()
            raise FetchFailed(f"{url}: asked from byte {asked:,}, answered otherwise")
        start = asked
        total = None if found[2] == "*" else int(found[2])
    return Answer(response, start, total, validator, _digest(headers) or linked)


def _digest(headers: Message) -> str | None:
    found = _SHA256.fullmatch(headers.get("X-Linked-ETag", "").strip('"'))
    return found[0] if found else None


def _refused(url: str, error: urllib.error.HTTPError) -> Exception:
    if error.code in (404, 410):
        return NotFound(f"{url} does not exist (HTTP {error.code})")
    if error.code in (401, 403):
        return FetchFailed(
            f"{url}: permission denied (HTTP {error.code}); a private or gated model needs HF_TOKEN"
        )
    if error.code == 407:
        return FetchFailed(f"{url}: the proxy wants a password (HTTP 407); see https_proxy")
    if error.code == 416:
        return RangeRefused(f"{url}: HTTP 416 {error.reason}")
    if error.code in _TRY_AGAIN:
        return Interrupted(f"{url}: HTTP {error.code} {error.reason}")
    return FetchFailed(f"{url}: HTTP {error.code} {error.reason}")


def _unreachable(url: str, reason: object) -> Exception:
    host = urlsplit(url).netloc
    if isinstance(reason, ssl.SSLCertVerificationError):
        return FetchFailed(f"{host}: its certificate is not trusted ({reason.verify_message})")
    return Interrupted(
        f"{host} cannot be reached ({reason}); proxies are taken from https_proxy and http_proxy"
    )
