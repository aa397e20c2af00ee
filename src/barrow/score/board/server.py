"""The leaderboard while results arrive: a server on this machine alone.

It answers three addresses: the page, the version of what it shows, and what it shows as JSON. The
page asks for the version and takes the rest when that changes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from barrow.errors import NotFound
from barrow.interrupt import check_interrupt
from barrow.pages.callers import Callers
from barrow.pages.frame import policy
from barrow.score.board.data import board_data
from barrow.score.board.gather import Found, Gathered, LeftOut, gather, read_file, result_files
from barrow.score.board.page import SCRIPT, STYLE, page

_CALLERS = Callers()


class Watched:
    """The results of files and folders; a file is read again only when it changed."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._lock = threading.Lock()
        self._seen: object = None
        self._data: dict[str, Any] = {}
        self._read: dict[object, Found | str] = {}

    def data(self) -> dict[str, Any]:
        """What the page shows now. A missing path is left out and named until it returns."""
        there = [path for path in self._paths if path.exists()]
        with self._lock:
            seen = self._stamps(there)
            if seen != self._seen:
                gathered = gather(there, read=self._read_once)
                gone = tuple(
                    LeftOut(path.name, "is gone", named=True)
                    for path in self._paths
                    if path not in there
                )
                self._data = board_data(Gathered(gathered.found, gathered.left_out + gone))
                self._seen = seen
            return self._data

    def _read_once(self, path: Path) -> Found | str:
        try:
            stamp = _stamp(path)
        except OSError:
            return read_file(path)
        if stamp not in self._read:
            self._read[stamp] = read_file(path)
        return self._read[stamp]

    @staticmethod
    def _stamps(paths: Sequence[Path]) -> object:
        try:
            files = tuple(_stamp(file) for file, _ in result_files(paths))
        except (NotFound, OSError):
            return object()  # it disappeared meanwhile: equal to nothing, so all is read again
        return tuple(map(str, paths)), files


def _stamp(file: Path) -> object:
    stat = file.stat()
    return str(file), stat.st_mtime_ns, stat.st_size, stat.st_ino


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, watched: Watched, live: float) -> None:
        self.watched = watched
        self.live = live
        super().__init__((_CALLERS.address, port), _Handler)

    def service_actions(self) -> None:
        """Called several times a second."""
        check_interrupt()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "barrow"
    sys_version = ""

    def do_GET(self) -> None:
        refusal = _CALLERS.refusal(self.headers.get("Host"), self.headers.get("Origin"))
        if refusal is not None:
            return self._answer(403, "text/plain", f"{refusal}\n")
        path = self.path.partition("?")[0]
        if path == "/":
            text = page(self.server.watched.data(), live=self.server.live)
            return self._answer(200, "text/html", text)
        if path == "/version":
            return self._answer(200, "text/plain", self.server.watched.data()["version"])
        if path == "/board.json":
            return self._answer(200, "application/json", json.dumps(self.server.watched.data()))
        return self._answer(404, "text/plain", "there are /, /version and /board.json\n")

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, code: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        rules = policy(STYLE, SCRIPT, is_live=True)
        self.send_header("Content-Security-Policy", f"{rules}; frame-ancestors 'none'")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing: a page asks every few seconds."""


def board_server(paths: Sequence[Path], *, port: int = 0, live: float = 2.0) -> ThreadingHTTPServer:
    """A server on the loopback address; port 0 takes one that is free.

    `live` is how often a page asks, in seconds. Call its ``serve_forever``.
    """
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise NotFound(f"{', '.join(missing)} does not exist; pass results, or folders of them")
    try:
        return _Server(port, Watched(paths), live)
    except OverflowError:
        raise ValueError(f"port must be from 0 to 65535, got {port}") from None
    except OSError as error:
        raise ValueError(
            f"port {port} of {_CALLERS.address} cannot be used ({error.strerror}); choose another "
            "with --port, or 0 for any free one"
        ) from None
