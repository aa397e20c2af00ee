"""Errors as responses of OpenAI's shape, and bodies within their size."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, TypeVar

from starlette.requests import Request as Call
from starlette.responses import JSONResponse

from barrow.errors import TokenizerError
from barrow.serve.http.body import BadBody
from barrow.serve.http.service import Full, Stopped

Found = TypeVar("Found")
TOO_LONG = "the answer took too long; lower max_tokens"


class Refused(Exception):
    """A response in place of an answer."""

    def __init__(self, status: int, message: str, field: str | None = None, **headers: str) -> None:
        super().__init__(message)
        self.error = error_of(status, message, field)
        self.response = JSONResponse(self.error, status, headers=headers or None)


def error_of(status: int, message: str, field: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": field, "code": None}}


async def refusing(awaited: Awaitable[Found]) -> Found:
    """The result; errors of the body, the template and the service as responses."""
    try:
        return await awaited
    except BadBody as error:
        status = 404 if error.field == "model" else 400
        raise Refused(status, str(error), error.field) from None
    except TokenizerError as error:
        raise Refused(500, str(error)) from None
    except Full as error:
        raise Refused(429, f"{error}; try again later", **{"retry-after": "1"}) from None
    except Stopped as error:
        raise Refused(503, str(error)) from None
    except TimeoutError:
        raise Refused(504, TOO_LONG) from None
    except ValueError as error:
        raise Refused(400, str(error)) from None


async def body_of(call: Call, most_bytes: int) -> Any:
    """The JSON of a body.

    Pages elsewhere may send forms and plain text without asking first, but no JSON.
    """
    kind = call.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, f"Content-Type must be application/json, got {kind[:60] or 'none'}")
    data = bytearray()
    async for part in call.stream():
        data += part
        if len(data) > most_bytes:
            raise Refused(413, f"the body must have at most {most_bytes} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(400, "the body must be JSON") from None
