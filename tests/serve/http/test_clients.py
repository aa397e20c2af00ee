"""Many clients, some killed, some who send nonsense: no errors, no page lost (DEEPSPEED-2)."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.serve.http.conftest import listening, opened

from barrow.serve.http.served import Served

HEADERS = b"host: localhost\r\ncontent-type: application/json\r\n"
NONSENSE = (
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00nonsense",
    b"POST /v1/completions HTTP/1.1\r\n" + HEADERS + b"content-length: 7\r\n\r\n{nope}x",
    b"POST /v1/completions HTTP/1.1\r\n" + HEADERS + b"content-length: 99\r\n\r\n{",
    b"POST /v1/chat/completions HTTP/1.1\r\n" + HEADERS + b"content-length: 2\r\n\r\n[]",
)


@dataclass
class Seen:
    """Times to the first token, answers by kind, and what should not have been."""

    first: list[float] = field(default_factory=list)
    answered: int = 0
    killed: int = 0
    errors: list[str] = field(default_factory=list)


async def ask(port: int, body: dict[str, Any], seen: Seen, *, kill: bool) -> None:
    """One request; killed after its first bytes, or answered whole."""
    path = "/v1/chat/completions" if "messages" in body else "/v1/completions"
    data = json.dumps(body).encode()
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"POST {path} HTTP/1.1\r\n{HEADERS.decode()}connection: close\r\n"
        writer.write(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        found = await reader.readuntil(b"\r\n\r\n")
        if body.get("stream"):
            found += await reader.readuntil(b"data: ")
            seen.first.append(time.monotonic() - began)
        if kill:
            writer.transport.abort()
            seen.killed += 1
            return
        found += await reader.read()
        is_whole = b"[DONE]" in found if body.get("stream") else b'"usage"' in found
        if found.startswith(b"HTTP/1.1 200") and is_whole and b'"error"' not in found:
            seen.answered += 1
        else:
            seen.errors.append(found[:300].decode(errors="replace"))
    finally:
        writer.close()


async def client(number: int, port: int, seen: Seen, turns: Any) -> None:
    rng = random.Random(number)
    for _ in turns:
        kind = rng.random()
        if kind < 0.1:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(rng.choice(NONSENSE))
            if rng.random() < 0.5:
                writer.write_eof()
                await reader.read()
            writer.close()
            continue
        words = "stones " * rng.randrange(1, 30)
        body: dict[str, Any] = {"max_tokens": rng.randrange(1, 24), "seed": number}
        body["stream"] = rng.random() < 0.7
        body |= (
            {"prompt": words, "logprobs": rng.choice((None, 2)), "echo": rng.random() < 0.2}
            if rng.random() < 0.7
            else {"messages": [{"role": "user", "content": words}]}
        )
        await ask(port, body, seen, kill=kind < 0.25 and body["stream"])


def check_idle(offered: Served) -> None:
    """All were answered or cancelled, and every page is back."""
    assert offered.writer is not None
    service = offered.writer.service
    while service.num_open:  # who was killed is noticed soon
        threading.Event().wait(0.01)
    assert service.failure is None
    service.close()  # what was cancelled is done first
    service.engine.scheduler.check()
    assert not service.engine.scheduler.waiting
    assert service.engine.scheduler.pages.num_used == 0


async def crowd(port: int, num: int, seen: Seen, turns: Any) -> None:
    await asyncio.gather(*(client(number, port, seen, turns()) for number in range(num)))


def test_twenty_clients(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    offered = opened(folder)
    seen = Seen()
    with listening(offered) as port:
        asyncio.run(crowd(port, 20, seen, lambda: range(6)))
        check_idle(offered)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert seen.errors == []
    assert seen.answered > 60
    assert seen.killed > 5


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_five_hundred_clients_for_ten_minutes(folder: Path, capsys: Any) -> None:
    offered = opened(folder, slots=16, waiting=1000)
    seen = Seen()
    began = time.monotonic()
    memory: list[tuple[float, int]] = []

    def turns() -> Any:
        while (now := time.monotonic() - began) < 600:
            if not memory or now - memory[-1][0] > 30:
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                memory.append((now, pages * resource.getpagesize()))
            yield None

    with listening(offered) as port:
        asyncio.run(crowd(port, 500, seen, turns))
        check_idle(offered)
    first = sorted(seen.first)
    grown = memory[-1][1] - memory[len(memory) // 4][1]
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what it is for
            f"\n{seen.answered} answered, {seen.killed} killed, {len(seen.errors)} errors; "
            f"time to first token p50 {first[len(first) // 2]:.2f} s, p99 "
            f"{first[int(0.99 * len(first))]:.2f} s; memory {memory[0][1] >> 20} MiB at first, "
            f"{memory[len(memory) // 4][1] >> 20} MiB after a quarter, "
            f"{memory[-1][1] >> 20} MiB in the end"
        )
    assert seen.errors == []
    assert grown < 64 << 20
    assert seen.answered > 1000
