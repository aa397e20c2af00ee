"""Requests to an OpenAI-compatible server, with retries and clear errors."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from barrow.errors import ScoreError

_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class ServerSettings:
    """The address of a server, and limits of requests.

    `url` is its address, with or without ``/v1`` and ``/completions``. `model` is its name for the
    model; None where it has only one. `key` is sent as a bearer token, to this address only. A
    request times out after `timeout` seconds; it is tried `attempts` times, with a pause of `pause`
    seconds, then twice that, and so on. At most `concurrency` run at once.
    """

    url: str
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    timeout: float = 300.0
    attempts: int = 5
    pause: float = 1.0
    concurrency: int = 4

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"expected an http or https URL, got {self.url!r}")
        if self.attempts < 1 or self.concurrency < 1 or self.timeout <= 0:
            raise ValueError("attempts and concurrency must be ≥ 1, and timeout > 0")

    @property
    def base(self) -> str:
        """The address that ends in /v1."""
        url = self.url.split("?")[0].rstrip("/")
        url = url.removesuffix("/completions").removesuffix("/v1")
        return f"{url}/v1"


class Refused(ScoreError):
    """The server refused; `status` is that of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)

    def __reduce__(self) -> tuple[type[Refused], tuple[str, int]]:
        return Refused, (str(self), self.status)


def key_from(environment: Mapping[str, str], variable: str | None) -> str | None:
    """The key in an environment variable."""
    if variable is None:
        return None
    key = environment.get(variable, "").strip()
    if not key:
        raise ValueError(
            f"the environment variable {variable}, which should hold a key, is not set"
        )
    if not key.isascii() or not key.isprintable():
        raise ValueError(
            f"{variable} is not a valid key: it has characters that a header cannot contain"
        )
    return key


def ask(
    settings: ServerSettings,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """The JSON answer to a GET of a path under /v1, or to a POST if there is a body."""
    pause = settings.pause
    for attempt in range(1, settings.attempts + 1):
        try:
            return _answer(settings, path, body)
        except _Interrupted as error:
            if attempt == settings.attempts:
                tried = f"tried {attempt} times" if attempt > 1 else "tried once"
                raise ScoreError(f"{settings.base}/{path}: {error} ({tried})") from None
        sleep(min(pause, _LONGEST_PAUSE))
        pause *= 2
    raise AssertionError("the last attempt returns or raises")


class _Interrupted(Exception):
    """An error after which a retry may succeed."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET, and send the key elsewhere."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        del fp, msg, headers
        raise Refused(
            f"{req.full_url} redirects to {newurl} (HTTP {code}): pass that address", code
        )


def _answer(settings: ServerSettings, path: str, body: Mapping[str, Any] | None) -> Any:
    url = f"{settings.base}/{path}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data)  # noqa: S310 - the scheme was checked
    request.add_header("User-Agent", "barrow")
    request.add_header("Content-Type", "application/json")
    if settings.key:
        request.add_unredirected_header("Authorization", f"Bearer {settings.key}")
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(request, timeout=settings.timeout) as response:
            content = response.read()
    except urllib.error.HTTPError as error:
        with error:
            words = _message(error)
        if settings.key:  # a server may quote it
            words = words.replace(settings.key, "…")
        said = f"HTTP {error.code} {error.reason}" + (f": {words}" if words else "")
        if error.code in _TRY_AGAIN:
            raise _Interrupted(said) from None
        raise Refused(f"{url}: {said}", error.code) from None
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise _Interrupted(f"no answer for {settings.timeout:g} seconds") from None
        raise _Interrupted(f"cannot be reached ({reason})") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(f"the connection broke ({error or type(error).__name__})") from None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        start = content[:80].decode(errors="replace")
        raise ScoreError(f"{url} did not answer with JSON: {start!r}") from None


def _message(error: urllib.error.HTTPError) -> str:
    """The message of a refusal, on one line; servers nest it differently."""
    try:
        body = error.read(1 << 16).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return ""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = body
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split())[:500]
