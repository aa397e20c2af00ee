from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.interrupted import dropped
from tests.serve.http.conftest import client_to, listening

from barrow.interrupt import remembered
from barrow.pages.callers import Callers
from barrow.serve.http.app import app
from barrow.serve.http.run import Server
from barrow.serve.http.served import Served, ServerSettings, Writer
from barrow.serve.http.service import Full, Service, Stopped
from barrow.serve.pages import Pages
from barrow.serve.requests import Answer, Request
from barrow.serve.schedule import Scheduler
from barrow.tokens import ByteTokenizer

JSON = b"\r\ncontent-type: application/json\r\n\r\n"


class Stub:
    """An engine that says "ab…" one letter a step; a prompt that begins with 1 never ends.

    With the prompt 9 it fails.
    """

    def __init__(self) -> None:
        self.open: list[Answer] = []
        self.submitted = threading.Event()
        self.cancelled = threading.Event()
        self.scheduler = Scheduler(Pages(4), slots=2, parts=1)

    @property
    def is_idle(self) -> bool:
        return not self.open

    def submit(self, request: Request) -> Answer:
        if request.max_tokens > 50:
            raise ValueError("max_tokens can be at most 50")
        self.open.append(Answer(request))
        self.submitted.set()
        return self.open[-1]

    def cancel(self, answer: Answer) -> None:
        answer.reason = "cancelled"
        self.open.remove(answer)
        self.cancelled.set()

    def step(self) -> list[Answer]:
        grown = list(self.open)
        if any(answer.request.prompt[0] == 1 for answer in grown):
            time.sleep(0.001)  # what never ends would take all of a core, and of memory
        for answer in grown:
            if answer.request.prompt[0] == 9:
                raise RuntimeError("out of luck")
            answer.tokens.append(97 + len(answer.tokens) % 26)
            answer.logprobs.append(-0.5)
            answer.text += chr(answer.tokens[-1])
            if answer.request.prompt[0] != 1 and len(answer.tokens) == answer.request.max_tokens:
                answer.reason = "length"
                self.open.remove(answer)
        return grown


def writer_of(service: Service, **more: Any) -> Writer:
    return Writer(service, ByteTokenizer(), context=100, room=400, **more)


def client_of(service: Service, settings: ServerSettings | None = None, **more: Any) -> TestClient:
    offered = Served("m", writer_of(service, **more))
    return client_to(app(offered, settings or ServerSettings()))


@contextmanager
def running(*, most: int = 4) -> Iterator[tuple[Stub, Service]]:
    stub = Stub()
    service = Service(stub, most=most)  # type: ignore[arg-type]
    try:
        yield stub, service
    finally:
        service.close()


async def whole(service: Service, request: Request) -> str:
    return "".join([piece.text async for piece in service.answer(request)])


def test_answers_come_in_pieces() -> None:
    async def main(service: Service) -> None:
        pieces = [piece async for piece in service.answer(Request([2], 3))]
        assert "".join(piece.text for piece in pieces) == "abc"
        assert [piece.reason for piece in pieces] == [None, None, "length"]
        both = await asyncio.gather(*(whole(service, Request([2], num)) for num in (2, 5)))
        assert both == ["ab", "abcde"]

    with running() as (_, service):
        asyncio.run(main(service))
        assert service.num_open == 0
        assert service.counts.tokens == 10


def test_who_leaves_is_cancelled_and_who_is_too_many_is_refused() -> None:
    async def main(stub: Stub, service: Service) -> None:
        stream = service.answer(Request([1], 5))
        assert (await anext(stream)).text
        with pytest.raises(Full, match="1 requests are open"):
            await whole(service, Request([2], 1))
        await stream.aclose()
        assert await asyncio.to_thread(stub.cancelled.wait, 60)
        assert await whole(service, Request([2], 2)) == "ab"

    with running(most=1) as (stub, service):
        asyncio.run(main(stub, service))
        assert service.counts.cancelled == service.counts.refused == 1


def test_a_failure_reaches_all_who_wait() -> None:
    async def main(service: Service) -> None:
        endless = service.answer(Request([1], 5))
        await anext(endless)
        with pytest.raises(Stopped, match="the engine failed: RuntimeError: out of luck"):
            await whole(service, Request([9], 1))
        with pytest.raises(Stopped, match="out of luck"):
            async for _ in endless:
                pass
        with pytest.raises(Stopped, match="out of luck"):
            await whole(service, Request([2], 1))

    with running() as (_, service):
        asyncio.run(main(service))
        client = client_of(service)
        assert client.get("/health").status_code == 503
        assert client.post("/v1/completions", json={"prompt": "a"}).status_code == 503


def post(client: TestClient, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post("/v1/completions", json=body)
    return answer.status_code, answer.json()


def test_completions() -> None:
    with running() as (_, service):
        client = client_of(service)
        status, found = post(client, model="m", prompt=["x", [5, 6]], max_tokens=3, n=2, logprobs=0)
        assert status == 200
        assert [choice["text"] for choice in found["choices"]] == ["abc"] * 4
        assert [choice["index"] for choice in found["choices"]] == [0, 1, 2, 3]
        assert found["choices"][0]["finish_reason"] == "length"
        assert found["choices"][0]["logprobs"]["tokens"] == ["a", "b", "c"]
        assert found["choices"][0]["logprobs"]["token_logprobs"] == [-0.5] * 3
        assert found["usage"] == {
            "prompt_tokens": 4,
            "completion_tokens": 12,
            "total_tokens": 16,
        }
        body = {"prompt": "x", "max_tokens": 4, "stream": True}
        with client.stream("POST", "/v1/completions", json=body) as stream:
            lines = [line for line in stream.iter_lines() if line]
        assert lines[-1] == "data: [DONE]"
        events = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
        assert "".join(event["choices"][0]["text"] for event in events) == "abcd"
        assert events[-1]["choices"][0]["finish_reason"] == "length"
        assert client.get("/v1/models").json()["data"][0]["id"] == "m"
        assert client.get("/health").text == "ok"
        assert "barrow_tokens_total 16\n" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"prompt": "a", "model": "other"}, 404, "there is no model 'other'"),
        ({}, 400, "prompt must be a string, tokens"),
        ({"prompt": []}, 400, "prompt must be a string, tokens"),
        ({"prompt": [1, "a"]}, 400, "prompt must be a string, tokens"),
        ({"prompt": [True]}, 400, "prompt must be a string, tokens"),
        ({"prompt": "a", "max_tokens": "3"}, 400, "max_tokens must be int, got str"),
        ({"prompt": "a", "max_tokens": True}, 400, "max_tokens must be int, got bool"),
        ({"prompt": "a", "stream": 1}, 400, "stream must be bool, got int"),
        ({"prompt": "a", "best_of": 2}, 400, "unknown field 'best_of'"),
        ({"prompt": "a", "temperature": -1}, 400, "temperature must be ≥ 0, got -1"),
        ({"prompt": "a", "logit_bias": {"x": 1}}, 400, "invalid literal"),
        ({"prompt": "a", "stop": ["a", ""]}, 400, "stop must be up to 16 strings"),
        ({"prompt": "a", "n": 0}, 400, "n × prompts must be from 1 to 128"),
        ({"prompt": "a", "logprobs": 21}, 400, "logprobs must be from 0 to 20, got 21"),
        ({"prompt": "a", "n": 5, "max_tokens": 90}, 400, "5 × 92 tokens of prompt and answer"),
        ({"prompt": "a", "stream_options": {"x": 1}}, 400, "stream_options must be"),
        ({"prompt": "a", "response_format": {"type": "xml"}}, 400, "response_format must be"),
        ({"prompt": "a", "response_format": {"type": "json_object"}}, 400, "has no JSON schemas"),
        ({"prompt": "a", "max_tokens": 99}, 400, "max_tokens can be at most 50"),
        ({"prompt": "a", "max_tokens": 99, "stream": True}, 400, "can be at most 50"),
        ([], 400, "the body must be a JSON object"),
    ],
)
def test_bad_bodies(body: Any, status: int, message: str) -> None:
    with running() as (_, service):
        client = client_of(service)
        answer = client.post("/v1/completions", json=body)
        assert answer.status_code == status
        assert message in answer.json()["error"]["message"]
        assert post(client, prompt="a", max_tokens=1)[0] == 200


def test_keys_and_sizes() -> None:
    with running() as (_, service):
        client = client_of(service, ServerSettings(key="secret", most_bytes=100))
        assert client.get("/health").status_code == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer é"}):
            assert client.get("/v1/models", headers=_latin(headers)).status_code == 401
        client.headers["authorization"] = "Bearer secret"
        assert client.get("/v1/models").status_code == 200
        assert post(client, prompt="a" * 100)[0] == 413
        assert client.post("/v1/completions", content=b"{").status_code == 400
        assert client.post("/v1/completions", content=b"[" * 99).status_code == 400


def _latin(headers: dict[str, str]) -> dict[str, bytes]:
    return {name: value.encode("latin-1") for name, value in headers.items()}


ELSEWHERE = "https://elsewhere.org"
JSON_ONLY = "Content-Type must be application/json, got "


def test_other_hosts_and_pages_are_refused_before_any_work() -> None:
    """On every path; also where a key is needed, which a page of the same machine may know."""
    with running() as (stub, service):
        client = client_of(service)
        for path in ("/", "/health", "/metrics", "/v1/models", "/nothing"):
            assert client.get(path, headers={"host": "evil.example"}).status_code == 403
        body = {"prompt": "a", "max_tokens": 1}
        for headers in ({"host": "evil.example"}, {"origin": ELSEWHERE}, {"origin": "null"}):
            answer = client.post("/v1/completions", json=body, headers=headers)
            assert answer.status_code == 403
            assert "--allow-host or --allow-origin" in answer.json()["error"]["message"]
            assert "access-control-allow-origin" not in answer.headers
        assert not stub.submitted.is_set()
        own = {"host": "127.0.0.1:9000", "origin": "http://127.0.0.1:9000"}
        assert client.post("/v1/completions", json=body, headers=own).status_code == 200


def test_bodies_that_a_page_may_send_unasked_are_refused() -> None:
    with running() as (stub, service):
        client = client_of(service)
        body = b'{"prompt": "a", "max_tokens": 1}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = client.post("/v1/completions", content=body, headers={"content-type": kind})
            assert answer.status_code == 415
            assert answer.json()["error"]["message"] == JSON_ONLY + (kind or "none")
        assert not stub.submitted.is_set()
        headers = {"content-type": "Application/JSON; charset=utf-8"}
        assert client.post("/v1/completions", content=body, headers=headers).status_code == 200


def test_a_page_elsewhere_that_may_ask() -> None:
    callers = Callers(hosts=("models.example.org",), origins=(ELSEWHERE,))
    with running() as (_, service):
        client = client_of(service, ServerSettings(key="secret", callers=callers))
        page = {"host": "models.example.org", "origin": ELSEWHERE}
        wanted = "authorization,content-type,x-stainless-os"
        asked = {**page, "access-control-request-method": "POST"}
        asked["access-control-request-headers"] = wanted
        asked["access-control-request-private-network"] = "true"
        answer = client.options("/v1/completions", headers=asked)
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == ELSEWHERE
        assert answer.headers["access-control-allow-methods"] == "GET, POST"
        assert answer.headers["access-control-allow-headers"] == wanted
        assert answer.headers["access-control-allow-private-network"] == "true"
        # The page may read errors too.
        for headers, status in (({}, 401), ({"authorization": "Bearer secret"}, 200)):
            answer = client.post("/v1/completions", json={"prompt": "a"}, headers=page | headers)
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == ELSEWHERE
            assert answer.headers["vary"] == "origin"
        own = client.get("/health", headers={"origin": "http://localhost"})
        assert "access-control-allow-origin" not in own.headers


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_is_cancelled(stream: bool) -> None:
    """With a real socket: closed after the first bytes, or while nothing was sent yet."""
    with running() as (stub, service), listening(Served("m", writer_of(service))) as port:
        body = json.dumps({"prompt": [1], "max_tokens": 5, "stream": stream}).encode()
        with socket.create_connection(("127.0.0.1", port)) as client:
            head = (
                f"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}"
            )
            client.sendall(head.encode() + JSON + body)
            assert stub.submitted.wait(60)
            if stream:
                assert client.recv(1)
        assert stub.cancelled.wait(60)


def test_the_server_ends_by_a_ctrl_c_that_was_dropped_before() -> None:
    server = Server(Served("m"), ServerSettings())
    assert not asyncio.run(server.on_tick(1))
    with pytest.raises(KeyboardInterrupt), remembered():
        dropped()
        assert asyncio.run(server.on_tick(1))
        # A server in a thread of a program that is interrupted goes on until it is told to end.
        ends: list[bool] = []
        thread = threading.Thread(target=lambda: ends.append(asyncio.run(server.on_tick(1))))
        thread.start()
        thread.join()
        assert ends == [False]
