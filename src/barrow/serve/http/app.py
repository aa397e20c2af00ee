"""The routes of the server."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as Call
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from barrow.serve.http.body import Asked, BadBody, read
from barrow.serve.http.service import Full, Piece, Service, Stopped
from barrow.tokens import Tokenizer


@dataclass(frozen=True)
class ServerSettings:
    """The model's name, the key that callers must have, and limits.

    - `timeout`: seconds until an answer is given up; `most_bytes`: of a body.
    """

    model: str
    key: str | None = None
    stops: tuple[int, ...] = ()
    timeout: float = 600.0
    most_bytes: int = 1 << 20


class _Refused(Exception):
    def __init__(self, status: int, message: str, field: str | None = None, **headers: str) -> None:
        super().__init__(message)
        kind = "invalid_request_error" if status < 500 else "server_error"
        error = {"message": message, "type": kind, "param": field, "code": None}
        self.response = JSONResponse({"error": error}, status, headers=headers or None)


def app(service: Service, tokenizer: Tokenizer, settings: ServerSettings) -> Starlette:
    """OpenAI's completions, models, health and metrics; closing it closes the service."""

    async def completions(call: Call) -> Response:
        asked = await _asked(call, tokenizer, settings)
        about = {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": settings.model,
        }
        if asked.stream:
            first = _merged(service, asked)
            # Errors of the request come before the first piece, and still have a status.
            piece = await _refusing(anext(first))
            return StreamingResponse(
                _events(first, piece, asked, about, tokenizer, settings.timeout),
                media_type="text/event-stream",
            )
        return await _whole(call, service, asked, about, tokenizer, settings)

    async def models(call: Call) -> Response:
        del call
        found = {"id": settings.model, "object": "model", "owned_by": "barrow"}
        return JSONResponse({"object": "list", "data": [found]})

    async def health(call: Call) -> Response:
        del call
        return PlainTextResponse(service.failure or "ok", 200 if service.failure is None else 503)

    async def metrics(call: Call) -> Response:
        del call
        return PlainTextResponse(_metrics(service))

    def guarded(handler: Callable[[Call], Any], *, public: bool = False) -> Callable[[Call], Any]:
        async def run(call: Call) -> Response:
            try:
                if not public:
                    _check_key(call, settings.key)
                response: Response = await handler(call)
            except _Refused as refused:
                return refused.response
            return response

        return run

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    return Starlette(
        routes=[
            Route("/v1/completions", guarded(completions), methods=["POST"]),
            Route("/v1/models", guarded(models)),
            Route("/health", guarded(health, public=True)),
            Route("/metrics", guarded(metrics)),
        ],
        lifespan=lifespan,
    )


def _check_key(call: Call, key: str | None) -> None:
    given = call.headers.get("authorization", "").removeprefix("Bearer ")
    if key is not None and not hmac.compare_digest(given.encode(), key.encode()):
        raise _Refused(401, "a key is needed: Authorization: Bearer KEY")


async def _asked(call: Call, tokenizer: Tokenizer, settings: ServerSettings) -> Asked:
    data = b""
    async for part in call.stream():
        data += part
        if len(data) > settings.most_bytes:
            raise _Refused(413, f"the body must have at most {settings.most_bytes} bytes")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise _Refused(400, "the body must be JSON") from None
    try:
        return read(body, model=settings.model, tokenizer=tokenizer, stops=settings.stops)
    except BadBody as error:
        status = 404 if error.field == "model" else 400
        raise _Refused(status, str(error), error.field) from None


async def _refusing(awaited: Any) -> Any:
    """The result; errors of the service as responses."""
    try:
        return await awaited
    except Full as error:
        raise _Refused(429, f"{error}; try again later", **{"retry-after": "1"}) from None
    except Stopped as error:
        raise _Refused(503, str(error)) from None
    except TimeoutError:
        raise _Refused(504, "the answer took too long; lower max_tokens") from None
    except ValueError as error:
        raise _Refused(400, str(error)) from None


async def _merged(service: Service, asked: Asked) -> AsyncGenerator[tuple[int, Piece], None]:
    """Pieces of all choices, with their numbers, as they come."""
    pieces: asyncio.Queue[tuple[int, Piece | Exception]] = asyncio.Queue()

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
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _events(
    rest: AsyncGenerator[tuple[int, Piece], None],
    first: tuple[int, Piece],
    asked: Asked,
    about: dict[str, Any],
    tokenizer: Tokenizer,
    timeout: float,
) -> AsyncIterator[str]:
    try:
        async with asyncio.timeout(timeout):
            number, piece = first
            while True:
                choice = _choice(number, [piece], asked, tokenizer)
                yield f"data: {json.dumps({**about, 'choices': [choice]})}\n\n"
                try:
                    number, piece = await anext(rest)
                except StopAsyncIteration:
                    break
            yield "data: [DONE]\n\n"
    except (Stopped, TimeoutError) as error:
        message = str(error) or "the answer took too long; lower max_tokens"
        yield f"data: {json.dumps({'error': {'message': message, 'type': 'server_error'}})}\n\n"
    finally:
        await rest.aclose()


async def _whole(
    call: Call,
    service: Service,
    asked: Asked,
    about: dict[str, Any],
    tokenizer: Tokenizer,
    settings: ServerSettings,
) -> Response:
    """All choices; if the caller is gone before that, they are cancelled."""

    async def collect() -> list[list[Piece]]:
        found: list[list[Piece]] = [[] for _ in asked.requests]
        async with contextlib.aclosing(_merged(service, asked)) as merged:
            async for number, piece in merged:
                found[number].append(piece)
        return found

    async def gone() -> None:
        while (await call.receive())["type"] != "http.disconnect":
            pass

    task, watch = asyncio.create_task(collect()), asyncio.create_task(gone())
    try:
        await asyncio.wait(
            {task, watch}, timeout=settings.timeout, return_when=asyncio.FIRST_COMPLETED
        )
        if not task.done():
            if watch.done():
                return Response(status_code=499)
            raise _Refused(504, "the answer took too long; lower max_tokens")
        found = await _refusing(task)
    finally:
        for each in (task, watch):
            each.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)
    num = sum(len(piece.tokens) for pieces in found for piece in pieces)
    choices = [_choice(number, pieces, asked, tokenizer) for number, pieces in enumerate(found)]
    usage = {
        "prompt_tokens": asked.num_prompt_tokens,
        "completion_tokens": num,
        "total_tokens": asked.num_prompt_tokens + num,
    }
    return JSONResponse({**about, "choices": choices, "usage": usage})


def _choice(number: int, pieces: list[Piece], asked: Asked, tokenizer: Tokenizer) -> dict[str, Any]:
    logprobs = None
    if asked.logprobs:
        tokens = [token for piece in pieces for token in piece.tokens]
        logprobs = {
            "tokens": [tokenizer.token_bytes(token).decode(errors="replace") for token in tokens],
            "token_logprobs": [number for piece in pieces for number in piece.logprobs],
            "top_logprobs": None,
        }
    text = "".join(piece.text for piece in pieces)
    reason = pieces[-1].reason
    return {"index": number, "text": text, "logprobs": logprobs, "finish_reason": reason}


def _metrics(service: Service) -> str:
    """Prometheus' text format."""
    scheduler, counts = service.engine.scheduler, service.counts
    numbers = {
        "requests_total": counts.requests,
        "requests_refused_total": counts.refused,
        "requests_cancelled_total": counts.cancelled,
        "tokens_total": counts.tokens,
        "first_token_seconds_sum": counts.seconds_to_first,
        "first_token_seconds_count": counts.first_tokens,
        "preemptions_total": scheduler.num_preempted,
        "shared_pages_total": scheduler.num_shared,
        "running": len(scheduler.running),
        "waiting": len(scheduler.waiting),
        "pages": scheduler.pages.num,
        "pages_used": scheduler.pages.num_used,
        "up_seconds": time.monotonic() - counts.started,
    }
    return "".join(f"barrow_{name} {value}\n" for name, value in numbers.items())
