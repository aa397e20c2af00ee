"""Requests of other hosts and pages: refused, or answered so that a browser shows them the page."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barrow.pages.callers import Callers
from barrow.serve.http.refused import Refused


class Cors:
    """An application that only `callers` can ask.

    Not Starlette's middleware, which refuses no request: a browser withholds the answer from the
    page, but the work was done.
    """

    def __init__(self, app: ASGIApp, callers: Callers) -> None:
        self._app = app
        self._callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        reason = self._callers.refusal(headers.get("host"), origin)
        if reason is not None:
            said = f"{reason}; to allow more, start it with --allow-host or --allow-origin"
            await Refused(403, said).response(scope, receive, send)
            return
        if origin is None or origin not in self._callers.origins:
            await self._app(scope, receive, send)
            return

        async def send_to_page(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                sent["access-control-allow-origin"] = origin
                sent["access-control-expose-headers"] = "retry-after"
                sent.add_vary_header("origin")
            await send(message)

        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await _preflight(headers)(scope, receive, send_to_page)
        else:
            await self._app(scope, receive, send_to_page)


def _preflight(headers: Headers) -> Response:
    """Answer what a browser asks before it sends JSON, when it has no key yet."""
    allowed = {
        "access-control-allow-methods": "GET, POST",
        # Clients send headers of their own, and * would not include Authorization.
        "access-control-allow-headers": headers.get("access-control-request-headers", ""),
        "access-control-max-age": "600",
    }
    if "access-control-request-private-network" in headers:
        allowed["access-control-allow-private-network"] = "true"
    return Response(status_code=204, headers=allowed)
