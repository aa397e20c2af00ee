"""Answers of the engine as responses: whole, or as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from starlette.requests import Request as Call
from starlette.responses import JSONResponse, Response, StreamingResponse

from barrow.serve.http.answers import Shown
from barrow.serve.http.body import Asked
from barrow.serve.http.refused import TOO_LONG, error_of, refusing
from barrow.serve.http.served import Writer
from barrow.serve.http.service import Piece, Service, Stopped


async def written(
    call: Call, asked: Asked, writer: Writer, *, model: str, timeout: float
) -> Response:
    """The response to a checked body."""
    kind = "chat.completion" if asked.is_chat else "text_completion"
    about = {
        "id": f"{'chatcmpl' if asked.is_chat else 'cmpl'}-{uuid.uuid4().hex}",
        "object": f"{kind}.chunk" if asked.is_chat and asked.stream else kind,
        "created": int(time.time()),
        "model": model,
    }
    shown = [Shown(number, asked, writer.tokenizer) for number in range(len(asked.requests))]
    if asked.stream:
        rest = _merged(writer.service, asked, timeout)
        # Errors of the request come before the first piece, and still have a status.
        first = await refusing(anext(rest))
        events = _events(rest, first, asked, about, shown)
        # A proxy that buffered them would show nothing until the end.
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)
    found = await _whole(call, writer.service, asked, timeout)
    if found is None:
        return Response(status_code=499)
    choices = [one.choice(pieces, is_part=False) for one, pieces in zip(shown, found, strict=True)]
    num = sum(len(piece.tokens) for pieces in found for piece in pieces)
    return JSONResponse({**about, "choices": choices, "usage": _usage(asked, num)})


def _usage(asked: Asked, num: int) -> dict[str, int]:
    before = asked.num_prompt_tokens
    return {"prompt_tokens": before, "completion_tokens": num, "total_tokens": before + num}


async def _merged(
    service: Service, asked: Asked, timeout: float
) -> AsyncGenerator[tuple[int, Piece], None]:
    """Pieces of all choices, with their numbers, as they come; `TimeoutError` when it is time."""
    pieces: asyncio.Queue[tuple[int, Piece | Exception]] = asyncio.Queue()
    # Not `asyncio.timeout`: it would cancel the task, which may be sending what came before.
    loop = asyncio.get_running_loop()
    alarm = loop.call_later(timeout, pieces.put_nowait, (0, TimeoutError(TOO_LONG)))

    async def follow(number: int) -> None:
        stream = service.answer(asked.requests[number])
        try:
            async for piece in stream:
                pieces.put_nowait((number, piece))
        except Exception as error:  # noqa: BLE001 - raised where the pieces are read
            pieces.put_nowait((number, error))
        finally:
            await stream.aclose()

    tasks = [asyncio.create_task(follow(number)) for number in range(len(asked.requests))]
    left = len(tasks)
    try:
        while left:
            number, piece = await pieces.get()
            if isinstance(piece, Exception):
                raise piece
            left -= piece.reason is not None
            yield number, piece
    finally:
        alarm.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _events(
    rest: AsyncGenerator[tuple[int, Piece], None],
    first: tuple[int, Piece],
    asked: Asked,
    about: dict[str, Any],
    shown: list[Shown],
) -> AsyncIterator[str]:
    def event(data: dict[str, Any]) -> str:
        return f"data: {json.dumps(data)}\n\n"

    num = 0
    # In a stream with usage, every event has the field.
    more = {"usage": None} if asked.with_usage else {}
    try:
        number, piece = first
        while True:
            num += len(piece.tokens)
            choice = shown[number].choice([piece], is_part=True)
            yield event({**about, "choices": [choice], **more})
            try:
                number, piece = await anext(rest)
            except StopAsyncIteration:
                break
        if asked.with_usage:
            yield event({**about, "choices": [], "usage": _usage(asked, num)})
        yield "data: [DONE]\n\n"
    except (Stopped, TimeoutError, ValueError) as error:
        yield event(error_of(500, str(error)))
    finally:
        await rest.aclose()


async def _whole(
    call: Call, service: Service, asked: Asked, timeout: float
) -> list[list[Piece]] | None:
    """Pieces of all choices; None if the caller is gone before that, and they are cancelled."""

    async def collect() -> list[list[Piece]]:
        found: list[list[Piece]] = [[] for _ in asked.requests]
        async with contextlib.aclosing(_merged(service, asked, timeout)) as merged:
            async for number, piece in merged:
                found[number].append(piece)
        return found

    async def gone() -> None:
        while (await call.receive())["type"] != "http.disconnect":
            pass

    task, watch = asyncio.create_task(collect()), asyncio.create_task(gone())
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        return await refusing(task) if task.done() else None
    finally:
        for each in (task, watch):
            each.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)
