"""A hub of models on the loopback, as much of one as `huggingface_hub` asks for."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Hub:
    """A hub on the loopback, with one model, OWNER/MODEL, whose files and faults a test sets.

    `large` are the files that are kept by their SHA-256, as Git LFS does; the rest by git's SHA-1.
    `cuts` closes the next connections for a file after so many bytes; `sent` are bytes that are
    sent instead of a file's own; `refuses` is an error code of the hub and its HTTP status.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    large: set[str] = field(default_factory=set)
    cuts: dict[str, list[int]] = field(default_factory=dict)
    sent: dict[str, bytes] = field(default_factory=dict)
    refuses: tuple[str, int] | None = None
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)

    COMMIT = "c" * 40

    def publish(self, folder: Path) -> None:
        """Offer the files of a folder; those of weights are large."""
        self.files = {file.name: file.read_bytes() for file in folder.iterdir()}
        self.large = {name for name in self.files if name.endswith((".safetensors", ".bin"))}

    def sum_of(self, name: str) -> str:
        """What names a file in the cache."""
        data = self.files[name]
        if name in self.large:
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def asked(self, method: str = "GET") -> list[tuple[str, str | None]]:
        """Files asked for, with the range of each."""
        return [
            (path.rsplit("/", 1)[-1], wanted)
            for verb, path, wanted in self.requests
            if verb == method and "/resolve/" in path
        ]


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub, path = self.hub, urlsplit(self.path).path
        hub.requests.append((self.command, path, self.headers.get("Range")))
        if hub.refuses is not None:
            return self._answer(hub.refuses[1], b"{}", {"X-Error-Code": hub.refuses[0]})
        if path.startswith("/api/models/OWNER/MODEL/revision/"):
            return self._json({"id": "OWNER/MODEL", "sha": hub.COMMIT, "siblings": []})
        if path.startswith("/api/models/OWNER/MODEL/tree/"):
            return self._json([self._entry(name) for name in hub.files])
        name = path.rsplit("/", 1)[-1]
        if path != f"/OWNER/MODEL/resolve/{hub.COMMIT}/{name}" or name not in hub.files:
            return self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        data = hub.sent.get(name, hub.files[name])
        linked = {"X-Linked-Etag": f'"{hub.sum_of(name)}"', "X-Linked-Size": str(len(data))}
        extra = {"X-Repo-Commit": hub.COMMIT, "ETag": f'"{hub.sum_of(name)}"'}
        extra |= linked if name in hub.large else {}
        start = 0
        if wanted := self.headers.get("Range"):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            extra["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        cut = None
        if self.command == "GET" and hub.cuts.get(name):
            cut = hub.cuts[name].pop(0)
        return self._answer(206 if wanted else 200, data[start:], extra, cut=cut)

    def _entry(self, name: str) -> dict[str, Any]:
        data = self.hub.files[name]
        oid = {"oid": self.hub.sum_of(name), "size": len(data)}
        lfs = {"lfs": {**oid, "pointerSize": 134}, "oid": "0" * 40}
        return {"type": "file", "path": name, **oid, **(lfs if name in self.hub.large else {})}

    def _json(self, value: Any) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _answer(
        self, code: int, data: bytes, extra: dict[str, str], *, cut: int | None = None
    ) -> None:
        self.send_response(code)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[:cut])
        self.close_connection = cut is not None


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Clients that close first are no error."""


@contextlib.contextmanager
def running_hub() -> Iterator[Hub]:
    """A hub on this machine."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = _Server(("127.0.0.1", 0), handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
