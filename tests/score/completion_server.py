"""A loopback server that speaks as OpenAI-compatible ones do, and can be told to misbehave.

Its model: a byte that was seen among the last three costs 1 nat, any other 3; tokens are runs of
two characters, or of two bytes for rows of ids.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Behaviour:
    """What the server does; tests change it."""

    begin: str | None = None
    least_drawn: int = 0
    max_model_len: int | None = 64
    usage: bool = True
    models: tuple[str, ...] = ("toy",)
    failures: list[tuple[int, str]] = field(default_factory=list)
    drop: int = 0
    no_logprobs: bool = False
    delay: float = 0.0
    cut: int | None = None
    told: dict[str, str] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    lock: Any = field(default_factory=threading.Lock)


def nats_of(pieces: list[Any]) -> list[float | None]:
    """The model: of each piece after the first, given the three before it."""
    return [
        None if at == 0 else (-1.0 if pieces[at] in pieces[max(0, at - 3) : at] else -3.0)
        for at in range(len(pieces))
    ]


def pieces_of(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def _answer(behaviour: Behaviour, body: dict[str, Any]) -> tuple[int, Any]:
    drawn = body["max_tokens"]
    if drawn < behaviour.least_drawn:
        return 400, {"error": {"message": "max_tokens must be at least 1"}}
    prompt = body["prompt"]
    pieces = pieces_of(prompt[: behaviour.cut]) if isinstance(prompt, str) else list(prompt)
    if isinstance(prompt, str) and behaviour.begin is not None:
        pieces = [behaviour.begin, *pieces]
    logs = nats_of(pieces)
    tokens = [behaviour.told.get(p, p) if isinstance(p, str) else f"token_id:{p}" for p in pieces]
    number = len(pieces)
    tokens, logs = tokens + ["!"] * drawn, logs + [-0.5] * drawn
    logs = logs[: len(logs) - behaviour.drop]
    found = {"tokens": tokens, "token_logprobs": logs, "text_offset": []}
    answer: dict[str, Any] = {
        "choices": [{"text": "", "logprobs": None if behaviour.no_logprobs else found}]
    }
    if behaviour.usage:
        answer["usage"] = {"prompt_tokens": number}
    return 200, answer


class _Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        entries = [{"id": name} for name in self.behaviour.models]
        for entry in entries:
            entry |= {"max_model_len": self.behaviour.max_model_len}
        self._send(200 if self.path == "/v1/models" else 404, {"data": entries})

    def do_POST(self) -> None:
        behaviour = self.behaviour
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with behaviour.lock:
            behaviour.requests.append(body)
            behaviour.keys.append(self.headers.get("Authorization"))
            behaviour.running += 1
            behaviour.most_running = max(behaviour.most_running, behaviour.running)
            failure = behaviour.failures.pop(0) if behaviour.failures else None
        if behaviour.delay:
            threading.Event().wait(behaviour.delay)
        answer = failure or _answer(behaviour, body)
        with behaviour.lock:  # before who asked hears of it, and asks again
            behaviour.running -= 1
        self._send(*answer)

    def _send(self, status: int, body: Any) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        with contextlib.suppress(ConnectionError):  # who asked may have gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(data)


@contextlib.contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """The address of a server on loopback."""
    handler = type("Handler", (_Handler,), {"behaviour": behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
