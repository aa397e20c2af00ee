"""Files of other programs, written from the descriptions of their formats; and a web server."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barrow.weights import FetchSettings

_NUMBERS = {"u1": 0, "i1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "f4": 6, "u8": 10, "i8": 11}
_NUMBERS["f8"] = 12


def text(value: str | bytes) -> bytes:
    """A GGUF string."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def typed(value: Any) -> tuple[int, bytes]:
    """Type and bytes of a GGUF value; numbers are NumPy scalars, or Python's as u4 and f4."""
    if isinstance(value, bool):
        return 7, bytes([value])
    if isinstance(value, str):
        return 8, text(value)
    if isinstance(value, int | float):
        value = np.uint32(value) if isinstance(value, int) else np.float32(value)
    if isinstance(value, np.generic):
        return _NUMBERS[value.dtype.str[1:]], value.tobytes()
    if isinstance(value, np.ndarray):
        head = struct.pack("<IQ", _NUMBERS[value.dtype.str[1:]], len(value))
        return 9, head + value.tobytes()
    kinds = [typed(element) for element in value]
    head = struct.pack("<IQ", kinds[0][0] if kinds else 8, len(kinds))
    return 9, head + b"".join(data for _, data in kinds)


def make_gguf(
    metadata: dict[str, Any],
    tensors: dict[str, tuple[int, tuple[int, ...], bytes]],
    *,
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """A file: metadata, and tensors as (type, shape with the fastest dimension last, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = typed(value)
        head += text(key) + struct.pack("<I", kind) + data
    body = b""
    for name, (kind, shape, data) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", dim) for dim in reversed(shape))
        head += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % alignment)
    return head + b"\0" * (-len(head) % alignment) + body


@pytest.fixture
def gguf(tmp_path: Path) -> Callable[..., Path]:
    """Write a GGUF file; arrays are stored as float32."""

    def write(
        metadata: dict[str, Any], tensors: dict[str, Any], name: str = "m.gguf", **options: int
    ) -> Path:
        stored = {
            key: value
            if isinstance(value, tuple)
            else (0, value.shape, np.ascontiguousarray(value, "<f4").tobytes())
            for key, value in tensors.items()
        }
        path = tmp_path / name
        path.write_bytes(make_gguf(metadata, stored, **options))
        return path

    return write


@dataclass
class Web:
    """A loopback server whose files and faults a test sets.

    `files` maps a path to bytes, `tags` to an ETag (none: no validator at all), `headers` to more
    headers, `moved` to where it redirects, `status` to error codes to answer first. `cut_after`
    closes each connection after so many bytes; `ranges` is whether it knows of ranges.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    status: dict[str, list[int]] = field(default_factory=dict)
    cut_after: int | None = None
    ranges: bool = True
    honours_if_range: bool = True
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    on_request: Callable[[str], None] = lambda path: None


class _Handler(BaseHTTPRequestHandler):
    web: Web

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        web, path = self.web, self.path
        web.requests.append((path, dict(self.headers)))
        web.on_request(path)
        if web.status.get(path):
            return self._answer(web.status[path].pop(0), b"")
        if path in web.moved:
            extra = {"Location": web.moved[path], **web.headers.get(path, {})}
            return self._answer(302, b"", extra)
        if path not in web.files:
            return self._answer(404, b"")
        data, tag, start = web.files[path], web.tags.get(path), 0
        extra = dict(web.headers.get(path, {}))
        if tag:
            extra["ETag"] = tag
        asked = self.headers.get("Range")
        same = self.headers.get("If-Range") == tag or not web.honours_if_range
        if asked and web.ranges and same:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                return self._answer(416, b"")
            extra["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        return self._answer(206 if "Content-Range" in extra else 200, data[start:], extra)

    def _answer(self, code: int, data: bytes, extra: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: self.web.cut_after])
        self.close_connection = True


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """A server on this machine, for as long as the test."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    web = Web()
    handler = type("Handler", (_Handler,), {"web": web})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    web.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield web
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def fetching(web: Web, tmp_path: Path) -> FetchSettings:
    """Settings that fetch from the server, into a cache of the test's own, without pauses."""
    return FetchSettings(cache=tmp_path / "cache", hub=web.url, pause=0, timeout=20)
