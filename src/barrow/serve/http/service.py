"""The engine in a thread of its own, and answers as asynchronous streams."""

from __future__ import annotations

import asyncio
import threading
import time
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from barrow.serve.engine import Engine
from barrow.serve.requests import Answer, Likeliest, Reason, Request

# Bounds of the times to a first token that are counted, in seconds.
WAITS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class Full(Exception):
    """Too many requests are waiting."""


class Stopped(Exception):
    """The engine has stopped, and why."""


@dataclass(frozen=True)
class PromptRead:
    """Log-probabilities of the tokens of a prompt after its first, and the likeliest there."""

    logprobs: tuple[float, ...]
    top: tuple[Likeliest, ...]


@dataclass(frozen=True)
class Piece:
    """What an answer grew by: text, tokens, their log-probabilities, and the likeliest.

    At its end there is a reason; the first may have those of the prompt.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    reason: Reason | None
    top: tuple[Likeliest, ...] = ()
    prompt: PromptRead | None = None


@dataclass(eq=False)
class _Client:
    """Who waits for an answer. What was sent: characters of text, and tokens."""

    request: Request
    send: Callable[[Piece | Exception], None]
    began: float
    answer: Answer | None = None
    num_text: int = 0
    num_tokens: int = 0
    has_begun: bool = False


@dataclass
class Counts:
    """Totals since the start."""

    requests: int = 0
    refused: int = 0
    cancelled: int = 0
    tokens: int = 0
    waits: list[int] = field(default_factory=lambda: [0] * (len(WAITS) + 1))
    seconds_to_first: float = 0.0
    started: float = field(default_factory=time.monotonic)


class Service:
    """Runs an engine until `close`; only its thread touches the engine.

    `answer` raises `Full` if `most` requests are open, and `Stopped` after an error of the engine.
    """

    def __init__(self, engine: Engine, *, most: int) -> None:
        self.engine = engine
        self.counts = Counts()
        self.failure: str | None = None
        self.num_open = 0
        self._most = most
        self._inbox: SimpleQueue[tuple[str, _Client | None]] = SimpleQueue()
        self._clients: dict[Answer, _Client] = {}
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    async def answer(self, request: Request) -> AsyncGenerator[Piece, None]:
        """The pieces of an answer; leaving the iteration early cancels it."""
        if self.failure is not None:
            raise Stopped(self.failure)
        if self.num_open >= self._most:
            self.counts.refused += 1
            raise Full(f"{self._most} requests are open")
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[Piece | Exception] = asyncio.Queue()

        def send(piece: Piece | Exception) -> None:
            # A loop that has ended has nobody who waits.
            if not loop.is_closed():
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        client = _Client(request, send, time.monotonic())
        self.num_open += 1
        self.counts.requests += 1
        self._inbox.put(("submit", client))
        is_over = False
        try:
            while not is_over:
                piece = await pieces.get()
                if isinstance(piece, Exception):
                    is_over = True
                    raise piece
                is_over = piece.reason is not None
                yield piece
        finally:
            self.num_open -= 1
            if not is_over:
                self.counts.cancelled += 1
                self._inbox.put(("cancel", client))

    def close(self) -> None:
        """End all answers and the thread."""
        self._inbox.put(("close", None))
        self._thread.join()

    def _run(self) -> None:
        why = "the server is shutting down"
        try:
            while self._take():
                for answer in self.engine.step():
                    self._tell(answer)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            why = f"the engine failed: {type(error).__name__}: {error}"
        self.failure = why
        while not self._inbox.empty():
            kind, client = self._inbox.get()
            if kind == "submit" and client is not None:
                client.send(Stopped(why))
        for client in self._clients.values():
            client.send(Stopped(why))

    def _take(self) -> bool:
        """Do what was asked, waiting for it if there is nothing else to do; False at the end."""
        while True:
            try:
                kind, client = self._inbox.get(block=self.engine.is_idle)
            except Empty:
                return True
            if client is None:
                return False
            if kind == "submit":
                self._submit(client)
            elif client.answer is not None and client.answer.reason is None:
                self._clients.pop(client.answer, None)
                self.engine.cancel(client.answer)

    def _submit(self, client: _Client) -> None:
        try:
            client.answer = self.engine.submit(client.request)
        except ValueError as error:
            client.send(error)
        else:
            self._clients[client.answer] = client

    def _tell(self, answer: Answer) -> None:
        client = self._clients.get(answer)
        if client is None:
            return
        prompt = None
        if answer.request.reads_prompt and not client.has_begun:
            prompt = PromptRead(tuple(answer.prompt_logprobs), tuple(answer.prompt_top))
        piece = Piece(
            answer.text[client.num_text :],
            tuple(answer.tokens[client.num_tokens :]),
            tuple(answer.logprobs[client.num_tokens :]),
            answer.reason,
            tuple(answer.top[client.num_tokens :]),
            prompt,
        )
        if not client.has_begun:
            waited = time.monotonic() - client.began
            self.counts.waits[bisect_left(WAITS, waited)] += 1
            self.counts.seconds_to_first += waited
        client.has_begun = True
        client.num_text, client.num_tokens = len(answer.text), len(answer.tokens)
        self.counts.tokens += len(piece.tokens)
        if answer.reason is not None:
            del self._clients[answer]
        client.send(piece if answer.failure is None else ValueError(answer.failure))
