"""Requests to a loopback server."""

from __future__ import annotations

import socket
import urllib.request
from contextlib import closing
from dataclasses import replace
from email.message import Message
from typing import Any

import pytest

from barrow.errors import FetchFailed, NotFound
from barrow.weights import FetchSettings
from barrow.weights.http_request import Answer, Interrupted, RangeRefused, _Redirects, request


def ask(settings: FetchSettings, url: str, **options: Any) -> tuple[Answer, bytes]:
    answer = request(url, **{"start": 0, "validator": None, **options}, settings=settings)
    with closing(answer.body):
        return answer, answer.body.read()


def test_a_whole_file(web: Any, fetching: FetchSettings) -> None:
    web.files["/x"], web.tags["/x"] = b"hello", '"v1"'
    answer, data = ask(replace(fetching, headers=(("X-Mine", "yes"),)), f"{web.url}/x")
    assert data == b"hello"
    assert (answer.start, answer.total, answer.validator) == (0, 5, '"v1"')
    headers = web.requests[0][1]
    assert headers["Accept-Encoding"] == "identity"
    assert headers["X-Mine"] == "yes"
    assert "Range" not in headers


def test_the_rest_of_a_file(web: Any, fetching: FetchSettings) -> None:
    web.files["/x"], web.tags["/x"] = b"hello", '"v1"'
    answer, data = ask(fetching, f"{web.url}/x", start=2, validator='"v1"')
    assert (answer.start, answer.total, data) == (2, 5, b"llo")
    answer, data = ask(fetching, f"{web.url}/x", start=2, validator='"v0"')
    assert (answer.start, data) == (0, b"hello")  # another file by now
    answer, data = ask(fetching, f"{web.url}/x", start=2)
    assert (answer.start, data) == (0, b"hello")  # nothing says that it is the same


def test_weak_tags_identify_nothing(web: Any, fetching: FetchSettings) -> None:
    web.files["/x"], web.tags["/x"] = b"hello", 'W/"v1"'
    assert ask(fetching, f"{web.url}/x")[0].validator is None
    web.headers["/x"] = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
    assert ask(fetching, f"{web.url}/x")[0].validator == "Thu, 01 Jan 2026 00:00:00 GMT"


def test_the_digest_that_a_hub_names(web: Any, fetching: FetchSettings) -> None:
    web.files["/there"] = b"x"
    web.moved["/x"] = "/there"
    web.headers["/x"] = {"X-Linked-ETag": '"' + "ab" * 32 + '"'}
    assert ask(fetching, f"{web.url}/x")[0].sha256 == "ab" * 32
    web.headers["/x"] = {"X-Linked-ETag": '"not a digest"'}
    assert ask(fetching, f"{web.url}/x")[0].sha256 is None


def test_a_token_goes_to_the_hub_and_nowhere_else(web: Any, fetching: FetchSettings) -> None:
    elsewhere = web.url.replace("127.0.0.1", "localhost")
    web.files["/there"] = b"x"
    settings = replace(fetching, token="secret")
    web.moved["/near"] = f"{web.url}/there"
    web.moved["/far"] = f"{elsewhere}/there"
    ask(settings, f"{web.url}/near")
    ask(settings, f"{web.url}/far")
    ask(settings, f"{elsewhere}/there")
    ask(replace(settings, hub=web.url[:-1]), f"{web.url}/there")  # begins like the hub
    sent = ["Authorization" in headers for _, headers in web.requests]
    assert sent == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (404, NotFound, "/x does not exist .HTTP 404."),
        (410, NotFound, "does not exist"),
        (401, FetchFailed, "permission denied .HTTP 401.; a private or gated model needs HF_TOKEN"),
        (403, FetchFailed, "permission denied"),
        (407, FetchFailed, "the proxy wants a password"),
        (418, FetchFailed, "HTTP 418"),
        (416, RangeRefused, "HTTP 416"),
        (429, Interrupted, "HTTP 429"),
        (503, Interrupted, "HTTP 503"),
    ],
)
def test_refusals(web: Any, fetching: FetchSettings, code: int, error: type, words: str) -> None:
    web.status["/x"] = [code]
    with pytest.raises(error, match=words):
        ask(fetching, f"{web.url}/x")


def test_nobody_there(fetching: FetchSettings) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
        with pytest.raises(Interrupted, match="cannot be reached .*proxies are taken from"):
            ask(fetching, url)


def test_silence_is_cut_off(fetching: FetchSettings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(Interrupted, match="timed out"):
            ask(replace(fetching, timeout=0.05), url)


def test_redirects_that_leave_the_web(web: Any, fetching: FetchSettings) -> None:
    web.moved["/x"] = "ftp://host/file"
    with pytest.raises(FetchFailed, match="leads from http to ftp://host/file: refused"):
        ask(fetching, f"{web.url}/x")
    web.moved["/x"] = "/x"
    with pytest.raises(FetchFailed, match="HTTP 302"):
        ask(fetching, f"{web.url}/x")


def test_redirects_from_https_to_http() -> None:
    ask = urllib.request.Request("https://host/x")
    follow = _Redirects("Bearer secret").redirect_request
    with pytest.raises(FetchFailed, match="leads from https to http://host/y: refused"):
        follow(ask, None, 302, "Found", Message(), "http://host/y")
    new = follow(ask, None, 302, "Found", Message(), "https://host.evil/y")
    assert new is not None
    assert not new.has_header("Authorization")


def test_a_range_that_begins_elsewhere(web: Any, fetching: FetchSettings) -> None:
    web.files["/x"] = b"hello"
    web.headers["/x"] = {"Content-Range": "bytes 3-4/5"}
    with pytest.raises(FetchFailed, match="asked from byte 0, answered otherwise"):
        ask(fetching, f"{web.url}/x")
