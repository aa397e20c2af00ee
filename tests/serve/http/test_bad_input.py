"""Everything that can be wrong: its status, OpenAI's shape, no text in logs (DEEPSPEED-2)."""

from __future__ import annotations

import hmac
import http.client
import json
import logging
import threading
from typing import Any

import pytest
from tests.serve.http.conftest import Running, client_to, listening
from tests.serve.http.test_service import client_of, post, running, writer_of
from tests.tokens.chat.templates import CHATML, MISTRAL

from barrow.serve.http.app import app
from barrow.serve.http.served import Served, ServerSettings
from barrow.tokens.chat import ChatTemplate

JSON = {"content-type": "application/json"}
CHAT = "/v1/chat/completions"
TALK = [{"role": "user", "content": "a"}]
LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def error_of(answer: Any, status: int) -> dict[str, Any]:
    """The error of a response of OpenAI's shape."""
    assert answer.status_code == status, answer.text
    (error,) = answer.json().values()
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == ("invalid_request_error" if status < 500 else "server_error")
    return dict(error)


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"messages": []}, "messages", "messages must be a list of"),
        ({}, "messages", "messages must be a list of"),
        ({"messages": "hello"}, "messages", "messages must be list, got str"),
        ({"messages": ["hello"]}, "messages", "message 0 must be an object with a role"),
        ({"messages": [{"content": "a"}]}, "messages", "message 0 must be an object with a role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages", "content must be a string"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages",
            "message 0: parts of a content must be texts",
        ),
        ({"messages": TALK, "prompt": "a"}, "prompt", "unknown field 'prompt'"),
        ({"messages": TALK, "tools": []}, "tools", "unknown field 'tools'"),
        ({"messages": TALK, "logprobs": 3}, "logprobs", "logprobs must be bool, got int"),
        ({"messages": TALK, "top_logprobs": 3}, "top_logprobs", "with logprobs, got 3"),
        ({"messages": TALK, "n": 129}, "n", "n × prompts must be from 1 to 128"),
        ({"messages": TALK, "max_tokens": 0}, None, "max_tokens must be ≥ 1, got 0"),
        (
            {"messages": TALK, "response_format": {"type": "json_schema", "json_schema": {}}},
            "response_format",
            "response_format must be",
        ),
        (
            {"messages": TALK, "chat_template_kwargs": {"messages": 1}},
            "messages",
            "multiple values",
        ),
    ],
)
def test_bad_chats(body: Any, param: str | None, message: str, server: Running) -> None:
    client = client_to(app(server.served))
    error = error_of(client.post(CHAT, json=body), 400)
    assert message in error["message"]
    assert error["param"] == param
    assert client.post(CHAT, json={"messages": TALK, "max_tokens": 1}).status_code == 200


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "stone"},
        {"type": "string", "pattern": "("},
        {"$ref": "#/nowhere"},
        {"type": "object", "properties": 3},
    ],
)
def test_invalid_schemas(schema: Any, server: Running) -> None:
    client = client_to(app(server.served))
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    error = error_of(client.post(CHAT, json={"messages": TALK, "response_format": form}), 400)
    assert "the schema is not valid" in error["message"]
    assert error["param"] == "response_format"
    assert client.post(CHAT, json={"messages": TALK, "max_tokens": 1}).status_code == 200


def test_a_schema_that_cannot_be_followed_fails_alone(server: Running) -> None:
    """What the request itself raises ends it, and nobody else."""
    import numpy as np

    from barrow.serve.requests import Request

    writer = server.served.writer
    assert writer is not None

    def allowed(tokens: Any) -> Any:
        return np.zeros(3 if tokens else writer_vocab, np.bool_)

    writer_vocab = writer.tokenizer.vocab_size
    import asyncio

    async def main() -> None:
        other = writer.service.answer(Request([3], 30))
        await anext(other)
        with pytest.raises(ValueError, match="allowed must leave at least one token"):
            # Two parts of its prompt are in the step in which it fails.
            async for _ in writer.service.answer(Request([1] * 100, 5, allowed=allowed)):
                pass
        assert [piece async for piece in other][-1].reason == "length"

    asyncio.run(main())
    assert writer.service.failure is None


def test_prompts_beyond_the_context_and_the_pool(server: Running) -> None:
    client = client_to(app(server.served))
    answer = client.post("/v1/completions", json={"prompt": [3] * 300, "max_tokens": 1})
    assert "too many for the model's 256 positions" in error_of(answer, 400)["message"]
    answer = client.post("/v1/completions", json={"prompt": "a", "max_tokens": 250, "n": 5})
    assert "are more than the server's 1024; lower n" in error_of(answer, 400)["message"]
    answer = client.post("/v1/completions", json={"prompt": [330], "max_tokens": 1})
    assert "ids must be from 0 to" in error_of(answer, 400)["message"]
    assert post(client, prompt="a", max_tokens=1)[0] == 200


def test_templates_that_loop_or_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barrow.tokens.chat.template._SECONDS", 0.2)
    with running() as (_, service):
        for source, status, words in (
            (LOOP, 500, "took more than 0.2 s; does it loop?"),
            ("{{ 1 / 0 }}", 500, "ZeroDivisionError"),
            (MISTRAL, 400, "Only user and assistant roles are supported"),
            ("", 400, "the chat template gives no text"),
        ):
            template = ChatTemplate(source)
            client = client_of(service, template=template)
            messages = [*TALK, {"role": "system", "content": "b"}]
            error = error_of(client.post(CHAT, json={"messages": messages}), status)
            assert words in error["message"]
            assert post(client, prompt="a", max_tokens=1)[0] == 200
            template.close()
        error = error_of(client_of(service).post(CHAT, json={"messages": TALK}), 400)
        assert "the model has no chat template; use /v1/completions" in error["message"]


def test_paths_methods_and_bodies_that_are_none() -> None:
    with running() as (_, service):
        client = client_of(service)
        assert "GET /v1/nothing" in error_of(client.get("/v1/nothing"), 404)["message"]
        assert "Method Not Allowed" in error_of(client.get("/v1/completions"), 405)["message"]
        for content in (b"", b"{", b"\xff", b"[" * 100_000, b"nul", b'{"prompt": "a"} x'):
            answer = client.post("/v1/completions", content=content)
            assert "the body must be JSON" in error_of(answer, 400)["message"]
        answer = client.post("/v1/completions", content=b'{"prompt": "a", "temperature": NaN}')
        assert "temperature must be" in error_of(answer, 400)["message"]
        answer = client.post("/v1/completions", content=b'{"prompt": "\\ud800"}')
        assert "surrogate" in error_of(answer, 400)["message"]
        assert post(client, prompt="a", max_tokens=1)[0] == 200


def test_a_full_queue_and_slow_answers() -> None:
    with running(most=1) as (stub, service):
        client = client_of(service, ServerSettings(timeout=0.2))
        answer = client.post("/v1/completions", json={"prompt": [2], "max_tokens": 1, "n": 2})
        assert "1 requests are open; try again later" in error_of(answer, 429)["message"]
        assert answer.headers["retry-after"] == "1"
        error = error_of(client.post("/v1/completions", json={"prompt": [1]}), 504)
        assert error["message"] == "the answer took too long; lower max_tokens"
        assert stub.cancelled.wait(60)
        body = {"prompt": [1], "stream": True}
        for timeout in (0.2, 2, 20):  # on a busy machine nothing may have come: then it is a 504
            client = client_of(service, ServerSettings(timeout=timeout))
            answer = client.post("/v1/completions", json=body)
            if answer.status_code == 200:
                break
            assert error_of(answer, 504)["message"] == error["message"]
        lines = answer.text.split("\n\n")
        assert "the answer took too long" in lines[-2]
        assert "[DONE]" not in lines[-2]
        assert post(client, prompt=[2], max_tokens=1)[0] == 200


def test_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(given: bytes, key: bytes) -> bool:
        compared.append((given, key))
        return given == key

    monkeypatch.setattr(hmac, "compare_digest", compare)
    with running() as (_, service):
        client = client_of(service, ServerSettings(key="secret"))
        for path in ("/v1/completions", CHAT, "/v1/embeddings", "/score"):
            error = error_of(client.post(path, json={}), 401)
            assert error["message"] == "a key is needed: Authorization: Bearer KEY"
        for path in ("/v1/models", "/metrics"):
            error_of(client.get(path), 401)
        assert compared == [(b"", b"secret")] * 6
        assert [client.get(path).status_code for path in ("/", "/health")] == [200, 200]


def test_our_own_mistakes_are_errors_without_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise LookupError("it says SECRET WORDS")

    with caplog.at_level(logging.DEBUG), running() as (_, service):
        monkeypatch.setattr("barrow.serve.http.app.written", broken)
        with listening(Served("m", writer_of(service))) as port:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for body in (b'{"prompt": "SECRET WORDS"}', b'{"prompt": SECRET WORDS', b"{}"):
                connection.request("POST", "/v1/completions", body, JSON)
                answer = connection.getresponse()
                error = json.loads(answer.read())["error"]
                assert answer.status == (500 if body.endswith(b'"}') else 400)
                assert error["message"].count("SECRET") == 0
            connection.close()
    assert "LookupError at" in caplog.text
    assert "SECRET" not in caplog.text


def test_a_shutdown_fails_who_waits_with_the_reason() -> None:
    """Two answers have no end; the server is told to end, and after its patience each hears why."""
    heard: list[str] = []

    def ask(port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps({"prompt": [1], "max_tokens": 5, "stream": True})
        connection.request("POST", "/v1/completions", body, JSON)
        heard.append(connection.getresponse().read().decode())
        connection.close()

    with running() as (_, service):
        with listening(Served("m", writer_of(service)), patience=0.1) as port:
            threads = [threading.Thread(target=ask, args=(port,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            while service.num_open < 2:
                threading.Event().wait(0.01)
        for thread in threads:
            thread.join()
    assert len(heard) == 2
    assert all("the server is shutting down" in text for text in heard)


def test_a_model_with_a_template_but_other_settings(server: Running) -> None:
    """Variables of a caller reach the template."""
    template = ChatTemplate(CHATML + "{{ mood }}")
    with running() as (_, service):
        client = client_of(service, template=template)
        body = {"messages": TALK, "max_tokens": 1, "chat_template_kwargs": {"mood": "x" * 7}}
        more = client.post(CHAT, json=body).json()["usage"]["prompt_tokens"]
        del body["chat_template_kwargs"]
        assert client.post(CHAT, json=body).json()["usage"]["prompt_tokens"] == more - 7
    template.close()
