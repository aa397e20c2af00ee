"""The routes of the server."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Call
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from barrow.serve.http.body import read_chat, read_completion
from barrow.serve.http.cors import Cors
from barrow.serve.http.metrics import metrics
from barrow.serve.http.page import playground
from barrow.serve.http.reading import embeddings, scores
from barrow.serve.http.refused import Refused, body_of, error_of, refusing
from barrow.serve.http.served import Served, ServerSettings, Writer
from barrow.serve.http.writing import written

_LOG = logging.getLogger("barrow.serve")
_DEFAULT = ServerSettings()
Handler = Callable[[Call], Any]


def app(served: Served, settings: ServerSettings = _DEFAULT) -> Starlette:
    """All routes; those that the model cannot answer say so. Closing it closes the service."""
    writer, name = served.writer, served.name
    # One at a time: what is computed beside the engine should not starve it.
    beside = ThreadPoolExecutor(1, thread_name_prefix="beside")

    def answering(read: Callable[..., Any]) -> Handler:
        async def answer(call: Call) -> Response:
            if writer is None:
                raise Refused(400, f"{name} does not write; ask for /v1/embeddings")
            body = await body_of(call, settings.most_bytes)
            # Templates and schemas take a while, so not in the loop.
            asked = await refusing(asyncio.to_thread(read, body, writer, model=name))
            return await written(call, asked, writer, model=name, timeout=settings.timeout)

        return answer

    def computing(compute: Callable[..., Any], by: Any, what: str) -> Handler:
        async def answer(call: Call) -> Response:
            if by is None:
                raise Refused(400, f"{name} has no {what}")
            body = await body_of(call, settings.most_bytes)
            run = asyncio.get_running_loop().run_in_executor
            waited = run(beside, partial(compute, body, by, model=name))
            found = await refusing(asyncio.wait_for(waited, settings.timeout))
            return JSONResponse(found)

        return answer

    async def models(call: Call) -> Response:
        del call
        found = {"id": name, "object": "model", "created": 0, "owned_by": "barrow"}
        return JSONResponse({"object": "list", "data": [found]})

    async def health(call: Call) -> Response:
        del call
        failure = None if writer is None else writer.service.failure
        return PlainTextResponse(failure or "ok", 200 if failure is None else 503)

    async def numbers(call: Call) -> Response:
        del call
        return PlainTextResponse("" if writer is None else metrics(writer.service))

    async def page(call: Call) -> Response:
        del call
        has_chat = writer is not None and writer.template is not None
        return HTMLResponse(playground(name, has_chat=has_chat, has_key=settings.key is not None))

    def guarded(handler: Handler, *, public: bool = False) -> Handler:
        async def run(call: Call) -> Response:
            try:
                if not public:
                    _check_key(call, settings.key)
                response: Response = await handler(call)
            except Refused as refused:
                return refused.response
            except ClientDisconnect:
                return Response(status_code=499)
            except Exception as error:  # noqa: BLE001 - others are still served
                # Its message may have text of a request, so only its kind and place are logged.
                place = traceback.extract_tb(error.__traceback__)[-1]
                _LOG.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
                return Refused(500, f"unexpected: {type(error).__name__}").response
            return response

        return run

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        beside.shutdown(wait=False, cancel_futures=True)
        if writer is not None:
            await asyncio.to_thread(_close, writer)

    posts = {
        "/v1/completions": answering(read_completion),
        "/v1/chat/completions": answering(read_chat),
        "/v1/embeddings": computing(embeddings, served.embedder, "embeddings"),
        "/score": computing(scores, served.score, "likelihood of texts"),
    }
    return Starlette(
        routes=[
            *(Route(path, guarded(run), methods=["POST"]) for path, run in posts.items()),
            Route("/v1/models", guarded(models)),
            Route("/metrics", guarded(numbers)),
            Route("/health", guarded(health, public=True)),
            Route("/", guarded(page, public=True)),
        ],
        middleware=[Middleware(Cors, callers=settings.callers)],
        lifespan=lifespan,
        exception_handlers={HTTPException: _unknown},
    )


def _close(writer: Writer) -> None:
    writer.service.close()
    if writer.template is not None:
        writer.template.close()


def _check_key(call: Call, key: str | None) -> None:
    given = call.headers.get("authorization", "").removeprefix("Bearer ")
    if key is not None and not hmac.compare_digest(given.encode(), key.encode()):
        raise Refused(401, "a key is needed: Authorization: Bearer KEY")


async def _unknown(call: Call, error: Exception) -> Response:
    """Another path or method."""
    assert isinstance(error, HTTPException)
    message = f"{call.method} {call.url.path[:200]}: {error.detail}"
    return JSONResponse(error_of(error.status_code, message), error.status_code)
